# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory --no-builtin-rules
.DEFAULT_GOAL := help

# PYTHON names the interpreter of .venv; left empty, the distribution's own is taken where it fits.
PYTHON ?=
BOOTSTRAP := $(firstword $(wildcard /usr/bin/python3) python3)
SUITES := lint types unit units-all conformance integration molecule vm sanity

# What runs from here finds the tools in .venv, and this collection before any other copy of it.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/.venv/collections
export ANSIBLE_HOME := $(CURDIR)/.cache/ansible
export HYPOTHESIS_STORAGE_DIRECTORY := $(CURDIR)/.cache/hypothesis

.PHONY: help
help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: venv
venv:  ## prepare .venv from the pinned requirements
	@command -v $(BOOTSTRAP) >/dev/null || { echo "make venv: no python3 here: install the package python3." >&2; exit 1; }
	@$(BOOTSTRAP) -m tools.venv $(PYTHON)

.PHONY: demo
demo:  ## run the main job on real plugins in a throw-away sandbox (root)
	@tools/system-packages demo
	@$(MAKE) venv
	@demo/run

.PHONY: test
test: venv  ## run every suite below, to the end, and sum up
	@.venv/bin/python -m tools.check $(SUITES)

# One target for each suite, with its line for the list of targets:
lint:         ## ruff, the words of tools/style, yamllint, shellcheck, reuse, ansible-lint, antsibull, galaxy-importer
types:        ## mypy, strict
unit:         ## tests/unit on the Python of .venv
units-all:    ## tests/unit on every other Python at hand, 3.9 and newer
conformance:  ## the specification's behaviours, one case for each
integration:  ## the real plugins in a throw-away sandbox (root)
molecule:     ## roles and playbooks on a fleet of nodes over SSH (root); SCENARIO="NAME..." for some
vm:           ## the whole life of a booted machine, reboot included, in some minutes (root)
sanity:       ## ansible-test sanity on ansible-core 2.16, 2.19 and 2.21, as far as the Pythons at hand go

.PHONY: $(SUITES)
$(SUITES): venv
	@.venv/bin/python -m tools.check $@

.PHONY: fleet
fleet: venv  ## a shell in a sandbox, in which molecule's steps and tests/fleet/fleet are run by hand (root)
	@tools/system-packages node
	@tools/system-packages fleet
	@MOLECULE_EPHEMERAL_DIRECTORY=/run/molecule tests/support/sandbox $${SHELL:-/bin/sh}

.PHONY: format
format: venv  ## put the sources, and the tables in the roles' READMEs, into the form that lint wants
	@ruff check --fix .
	@ruff format .
	@ansible-docsmith generate --no-defaults --template-readme tools/role-readme.md.j2 .

.PHONY: bench
bench: venv  ## measure against libcni and a looping playbook, side by side (root)
	@tests/bench/run

.PHONY: docs
docs: venv  ## build the plugins' documentation as HTML into dist/docs
	@.venv/bin/python -m tools.docs

.PHONY: build
build: venv  ## build the collection's artifact into dist
	@.venv/bin/python -m tools.build

.PHONY: requirements
requirements: venv  ## pin everything anew from requirements/*.in
	@.venv/bin/python -m tools.freeze

.PHONY: clean
clean:  ## remove everything make has built
	@rm -rf .venv .cache dist .ansible .hypothesis tests/output changelogs/.plugin-cache.yaml
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
