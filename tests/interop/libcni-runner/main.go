// Copyright (c) 2026, cni.node contributors
// GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// libcni-runner is a runtime over libcni for any number of attachments in one process: the peer that shares records
// with the engine in tests, and that the engine is measured against.
//
//	libcni-runner [-conf-dir D] [-bin-dir D:D] [-cache-dir D] [-workers N] [-from-cache] COMMAND < items.json
//
// COMMAND is ADD, CHECK, DEL, VERSION (what each plugin of an item's network supports) or RECORDS (what libcni has
// cached for an item). Outcomes go to stdout in the order of the items, one JSON object a line; the last line has
// the seconds that all of them took together. The exit status is 1 when an item failed, 2 when nothing was tried.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/version"
)

type item struct {
	Network        string                 `json:"network"`
	ContainerID    string                 `json:"container_id"`
	IfName         string                 `json:"ifname"`
	NetNS          string                 `json:"netns"`
	Args           map[string]string      `json:"args"`
	CapabilityArgs map[string]interface{} `json:"capability_args"`
	FromCache      bool                   `json:"from_cache"`
}

type failure struct {
	Code    uint   `json:"code"`
	Msg     string `json:"msg"`
	Details string `json:"details"`
	// The whole message, which names the plugin.
	Text string `json:"text"`
}

type outcome struct {
	Network     string      `json:"network"`
	ContainerID string      `json:"container_id"`
	IfName      string      `json:"ifname"`
	Result      interface{} `json:"result"`
	Error       *failure    `json:"error"`
	Seconds     float64     `json:"seconds"`
}

func report(outcomes []outcome, total time.Duration) (failed bool) {
	out := json.NewEncoder(os.Stdout)
	for _, o := range outcomes {
		failed = failed || o.Error != nil
		must(out.Encode(o))
	}
	must(out.Encode(map[string]float64{"total_seconds": total.Seconds()}))
	return failed
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "libcni-runner:", err)
		os.Exit(2)
	}
}

func possible(command string, workers int) error {
	if workers < 1 {
		return fmt.Errorf("-workers is %d; expected 1 or more", workers)
	}
	switch command {
	case "ADD", "CHECK", "DEL", "VERSION", "RECORDS":
		return nil
	}
	return fmt.Errorf("command is %q; expected ADD, CHECK, DEL, VERSION or RECORDS", command)
}

func main() {
	confDir := flag.String("conf-dir", "/etc/cni/net.d", "`directory` of the network configurations")
	binDirs := flag.String("bin-dir", "/opt/cni/bin:/usr/lib/cni", "plugin `directories`, separated by colons")
	cacheDir := flag.String("cache-dir", libcni.CacheDir, "`directory` of libcni's records")
	workers := flag.Int("workers", 1, "attachments worked on at the same time")
	fromCache := flag.Bool("from-cache", false, "take configuration and arguments from the records, as CRI-O does")
	flag.Parse()
	must(possible(flag.Arg(0), *workers))
	var items []item
	must(json.NewDecoder(os.Stdin).Decode(&items))
	for n := range items {
		items[n].FromCache = items[n].FromCache || *fromCache
	}

	exec := &invoke.DefaultExec{RawExec: &invoke.RawExec{Stderr: os.Stderr}, PluginDecoder: version.PluginDecoder{}}
	r := &runner{
		cni:     libcni.NewCNIConfigWithCacheDir(filepath.SplitList(*binDirs), *cacheDir, exec),
		confDir: *confDir, command: flag.Arg(0),
		lists: map[string]*libcni.NetworkConfigList{}, errors: map[string]error{},
	}
	start := time.Now()
	r.load(items)
	outcomes := r.attemptAll(items, *workers)
	if report(outcomes, time.Since(start)) {
		os.Exit(1)
	}
}
