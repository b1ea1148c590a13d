# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory --no-builtin-rules
.DEFAULT_GOAL := help

# PYTHON selects the interpreter of .venv; by default the distribution's own is used if it is supported.
PYTHON ?=
BOOTSTRAP := $(firstword $(wildcard /usr/bin/python3) python3)
SUITES := lint types unit conformance integration uml ansible molecule browser controller
# What only repetition, other releases or an emulated machine can show.
OUTER := vm newest sanity pythons

# Programs started here find the tools in .venv, and this working tree before any other copy of the collection.
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
demo:  ## attach namespaces with real plugins in a throw-away sandbox (root)
	@tools/system-packages demo
	@$(MAKE) venv
	@demo/run

.PHONY: report
report:  ## provision three nodes made of namespaces, damage one, and write dist/report.html about them (root)
	@tools/system-packages demo
	@tools/system-packages fleet
	@$(MAKE) venv
	@demo/report

.PHONY: test
test: venv  ## prove a change: every suite of the inner ring, in less than twenty minutes
	@.venv/bin/python -m tools.check $(SUITES)

.PHONY: test-all
test-all: export CNI_RING = outer
test-all: venv  ## every suite with all repetitions and releases, in some hours
	@.venv/bin/python -m tools.check $(SUITES) $(OUTER)

# One target for each suite; the text is for `make help`. CNI_RING=outer runs the tests that `make test` leaves out, too:
lint:         ## ruff, the words of tools/style, yamllint, shellcheck, reuse, zizmor, ansible-lint, antsibull, galaxy-importer
types:        ## mypy, strict
unit:         ## tests/unit on the Python of .venv
pythons:      ## tests/unit on every other Python of this machine from 3.9
conformance:  ## one test for each behaviour that the CNI specification requires
integration:  ## the engine and the built-in plugins beside real ones, in a throw-away sandbox (root)
uml:          ## tests of `integration` that need another kernel, on one that runs as a process (root)
ansible:      ## modules, roles, playbooks and pages with real plugins, in a throw-away sandbox (root)
molecule:     ## scenarios of roles and playbooks on a fleet of nodes over SSH (root); SCENARIO="NAME..." for some
browser:      ## the fleet's report and the documentation site in headless Chromium
controller:   ## the project, image, navigator settings and rulebook for automation controllers
vm:           ## a booted virtual machine from provisioning to reboot, in some 40 minutes (root)
newest:       ## `integration` beside the reference plugins of a newer Debian (root)
sanity:       ## ansible-test sanity on ansible-core 2.21; CORE="2.17..." for other lines

.PHONY: $(SUITES) $(OUTER)
$(SUITES) $(OUTER): venv
	@.venv/bin/python -m tools.check $@

.PHONY: quick
quick: venv  ## lint, types and the unit tests of what changed, in under a minute; BASE=REVISION compares with another
	@.venv/bin/python -m tools.quick $(BASE)

.PHONY: fleet
fleet: venv  ## a shell in a sandbox, to run molecule's steps and tests/fleet/fleet by hand (root)
	@tools/system-packages node
	@tools/system-packages fleet
	@MOLECULE_EPHEMERAL_DIRECTORY=/run/molecule tests/support/sandbox $${SHELL:-/bin/sh}

.PHONY: format
format: venv  ## format the sources; generate choices of runtimes, defaults and READMEs of roles, and docs/architecture.svg
	@ruff check --fix .
	@ruff format .
	@.venv/bin/python -m tools.choices
	@.venv/bin/python -m tools.roles
	@ansible-docsmith generate --no-defaults --template-readme tools/role-readme.md.j2 .
	@.venv/bin/python -m tools.picture

.PHONY: bench
bench: venv  ## measure against libcni and a playbook that loops (root)
	@tests/bench/run

.PHONY: docs
docs: venv  ## build the documentation site into dist/docs: pages, tutorials, and the reference of modules and roles
	@.venv/bin/python -m tools.docs

.PHONY: build
build: venv  ## build the collection's artifact into dist
	@.venv/bin/python -m tools.build

.PHONY: changelog
changelog: venv  ## write the fragments into the changelog of galaxy.yml's version, and remove them
	@antsibull-changelog release --update-existing --reload-plugins

.PHONY: release
release: venv  ## build the artifact into dist and sign its manifest; KEY=FINGERPRINT, TAG=VERSION to compare with
	@.venv/bin/python -m tools.release "$(KEY)" "$(TAG)"

# The token stays out of the command, which other users of the machine can see.
.PHONY: publish
publish: export ANSIBLE_GALAXY_SERVER_LIST = galaxy
publish: export ANSIBLE_GALAXY_SERVER_GALAXY_URL ?= https://galaxy.ansible.com/
publish: export ANSIBLE_GALAXY_SERVER_GALAXY_TOKEN = $(GALAXY_TOKEN)
publish: venv  ## upload the artifact in dist to Galaxy, with the token in the environment variable GALAXY_TOKEN
	@ansible-galaxy collection publish dist/*.tar.gz

.PHONY: requirements
requirements: venv  ## pin the packages of requirements/*.in again
	@.venv/bin/python -m tools.freeze

.PHONY: clean
clean:  ## remove everything that make has built
	@rm -rf .venv .cache dist .ansible .hypothesis tests/output changelogs/.plugin-cache.yaml
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
