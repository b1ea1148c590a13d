// Copyright (c) 2026, cni.node contributors
// GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
)

type record struct {
	Config         json.RawMessage        `json:"config"`
	Args           [][2]string            `json:"args"`
	CapabilityArgs map[string]interface{} `json:"capability_args"`
	Result         types.Result           `json:"result"`
}

type runner struct {
	cni     *libcni.CNIConfig
	confDir string
	command string
	// One configuration per network, read once as a resident runtime does. A network that cannot be read is absent.
	lists  map[string]*libcni.NetworkConfigList
	errors map[string]error
}

func (r *runner) load(items []item) {
	for _, i := range items {
		if _, known := r.lists[i.Network]; known || i.FromCache || r.errors[i.Network] != nil {
			continue
		}
		if list, err := libcni.LoadConfList(r.confDir, i.Network); err != nil {
			r.errors[i.Network] = err
		} else {
			r.lists[i.Network] = list
		}
	}
}

func runtimeConf(i item) *libcni.RuntimeConf {
	rt := &libcni.RuntimeConf{
		ContainerID: i.ContainerID, NetNS: i.NetNS, IfName: i.IfName, CapabilityArgs: i.CapabilityArgs,
	}
	for key, value := range i.Args {
		rt.Args = append(rt.Args, [2]string{key, value})
	}
	sort.Slice(rt.Args, func(a, b int) bool { return rt.Args[a][0] < rt.Args[b][0] })
	return rt
}

// A cached configuration is a list, or one plugin where libcni's single-plugin functions made the attachment.
func parseCached(config []byte) (*libcni.NetworkConfigList, error) {
	list, err := libcni.ConfListFromBytes(config)
	if err == nil {
		return list, nil
	}
	single, singleErr := libcni.ConfFromBytes(config)
	if singleErr != nil {
		return nil, err
	}
	return libcni.ConfListFromConf(single)
}

func (r *runner) cached(i item) (*libcni.NetworkConfigList, *libcni.RuntimeConf, error) {
	config, rt, err := r.cni.GetNetworkListCachedConfig(&libcni.NetworkConfigList{Name: i.Network}, runtimeConf(i))
	if err != nil {
		return nil, nil, err
	}
	if rt == nil {
		return nil, nil, fmt.Errorf("libcni has no record of %s-%s-%s", i.Network, i.ContainerID, i.IfName)
	}
	list, err := parseCached(config)
	return list, rt, err
}

func (r *runner) configured(i item) (*libcni.NetworkConfigList, *libcni.RuntimeConf, error) {
	if i.FromCache || r.command == "RECORDS" {
		return r.cached(i)
	}
	return r.lists[i.Network], runtimeConf(i), r.errors[i.Network]
}

func (r *runner) versions(ctx context.Context, list *libcni.NetworkConfigList) (interface{}, error) {
	supported := map[string][]string{}
	for _, plugin := range list.Plugins {
		info, err := r.cni.GetVersionInfo(ctx, plugin.Network.Type)
		if err != nil {
			return nil, err
		}
		supported[plugin.Network.Type] = info.SupportedVersions()
	}
	return supported, nil
}

func (r *runner) record(list *libcni.NetworkConfigList, rt *libcni.RuntimeConf) (interface{}, error) {
	result, err := r.cni.GetNetworkListCachedResult(list, rt)
	if err != nil {
		return nil, err
	}
	return record{Config: list.Bytes, Args: rt.Args, CapabilityArgs: rt.CapabilityArgs, Result: result}, nil
}

func (r *runner) do(ctx context.Context, i item) (interface{}, error) {
	list, rt, err := r.configured(i)
	if err != nil {
		return nil, err
	}
	switch r.command {
	case "ADD":
		return r.cni.AddNetworkList(ctx, list, rt)
	case "CHECK":
		return nil, r.cni.CheckNetworkList(ctx, list, rt)
	case "DEL":
		return nil, r.cni.DelNetworkList(ctx, list, rt)
	case "VERSION":
		return r.versions(ctx, list)
	}
	return r.record(list, rt)
}

func asFailure(err error) *failure {
	var plugins *types.Error
	if errors.As(err, &plugins) {
		return &failure{Code: plugins.Code, Msg: plugins.Msg, Details: plugins.Details, Text: err.Error()}
	}
	return &failure{Code: types.ErrUnknown, Msg: err.Error(), Text: err.Error()}
}

func (r *runner) attempt(ctx context.Context, i item) outcome {
	start := time.Now()
	result, err := r.do(ctx, i)
	done := outcome{Network: i.Network, ContainerID: i.ContainerID, IfName: i.IfName, Seconds: time.Since(start).Seconds()}
	if err != nil {
		done.Error = asFailure(err)
	} else {
		done.Result = result
	}
	return done
}

func (r *runner) attemptAll(items []item, workers int) []outcome {
	outcomes := make([]outcome, len(items))
	next := make(chan int)
	var group sync.WaitGroup
	for w := 0; w < workers; w++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for n := range next {
				outcomes[n] = r.attempt(context.Background(), items[n])
			}
		}()
	}
	for n := range items {
		next <- n
	}
	close(next)
	group.Wait()
	return outcomes
}
