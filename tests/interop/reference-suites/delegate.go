// Copyright (c) 2026, cni.node contributors
// GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Runs another executable in place of a reference plugin's own functions, for the suite of that plugin.
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
)

// The test that copies this file adds the constant programs, a directory, and the functions that call this one.
// runProgram starts the executable from the thread of the caller, whose network namespace it gets.
func runProgram(name string, command string, args *skel.CmdArgs) error {
	program := exec.Command(filepath.Join(programs, name))
	program.Env = append(os.Environ(),
		"CNI_COMMAND="+command,
		"CNI_CONTAINERID="+args.ContainerID,
		"CNI_NETNS="+args.Netns,
		"CNI_IFNAME="+args.IfName,
		"CNI_ARGS="+args.Args,
		"CNI_PATH="+programs,
		"CNI_NETNS_OVERRIDE=true",
	)
	program.Stdin = bytes.NewReader(args.StdinData)
	program.Stderr = os.Stderr
	output, err := program.Output()
	if err != nil {
		reported := &types.Error{}
		if json.Unmarshal(output, reported) == nil && reported.Msg != "" {
			return reported
		}
		return err
	}
	_, err = os.Stdout.Write(output)
	return err
}
