# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Facts about a container runtime: its directories, needs, records and lists of containers."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment

# Which file of its conf dir a runtime takes.
FIRST_FILE = "the first file"
FIRST_VALID = "the first valid file"
BY_NAME = "by network name"

# How a runtime notices that a file of its conf dir has changed.
AT_ONCE = "at once"
AT_NEXT_USE = "at the next container"
ON_RELOAD = "on reload"

# What one broken file of the conf dir does.
SKIPPED = "the file is skipped"


class Setting(t.NamedTuple):
    """A directory, or several, that the configuration of a runtime may set.

    Attributes:
        defaults: Patterns of the usual paths.
        files: Patterns of the configuration files. Later ones take precedence.
        keys: The names of the setting in these files.
        unset: The paths if a file exists and does not set them; empty if these are the defaults.
    """

    defaults: tuple[str, ...]
    files: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()


class Setup(t.NamedTuple):
    """The directories, files, plugins and kernel settings that a runtime expects of a node.

    Attributes:
        conf_dir: Where it reads network configurations. The first default is the usual path.
        plugin_dirs: Where it looks for plugins, in this order.
        bin_dir: The one of these directories in which plugins are installed for it; empty if it brings its own.
        takes: Which file it takes: `FIRST_FILE`, `FIRST_VALID` or `BY_NAME`.
        broken: What one broken file does, as a clause.
        notices: `AT_ONCE`, `AT_NEXT_USE` or `ON_RELOAD`.
        version: The command that prints its version as the first number of its output.
        containers: The command that lists the IDs of its containers; empty where there is none.
        searches_all: Whether it looks for a plugin in all directories, and not only in the first that exists.
        endings: The endings of the files that it reads.
        plugins: The plugins that it cannot do without, each with the lowest release, or an empty string.
        modules: Kernel modules that must be loaded.
        sysctls: Kernel settings that must be set.
        sets_kernel: Whether it loads the modules and sets the settings itself.
    """

    conf_dir: Setting
    plugin_dirs: Setting
    bin_dir: str
    takes: str
    broken: str
    notices: str
    version: tuple[str, ...]
    containers: tuple[str, ...] = ()
    searches_all: bool = True
    endings: tuple[str, ...] = (".conf", ".conflist", ".json")
    plugins: t.Mapping[str, str] = {}
    modules: tuple[str, ...] = ()
    sysctls: t.Mapping[str, str] = {}
    sets_kernel: bool = False


class Listings(t.NamedTuple):
    """Where a runtime lists its containers. A path begins with the name of a setting, and has patterns.

    Attributes:
        required: The lists are complete only if one of these exists; an empty list need not exist.
        markers: Exists where the runtime has run; by default, `required`.
        entries: Directories with one entry for each container. ``{id}`` and ``{namespace}`` come from the container ID.
        json: Files with a JSON list of objects with the key ``id``.
        sqlite: Databases with the table ``ContainerConfig`` and its column ``ID``.
        unreadable: Databases in a format that needs ``command``.
        command: A program that lists the IDs, one on each line.
    """

    required: tuple[str, ...]
    markers: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    json: tuple[str, ...] = ()
    sqlite: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


class RecordOwner(t.NamedTuple):
    """A runtime by its records: what they look like, and where it lists its containers.

    Attributes:
        container_id: The container IDs that it gives to plugins.
        netns: The paths of its network namespaces.
        settings: By the names that the paths in `listings` begin with.
        id_arg: The argument in which it repeats the container ID, or an empty string.
        needs_netns: Whether a record without the path of a network namespace is not its own, because others write the same.
        mentions: What the control groups, arguments or environment of a container's processes contain. ``{id}`` and
            ``{namespace}`` come from the container ID.
        networks: Networks that no other runtime has, with the ``dataDir`` that host-local has in them; empty for its default.
        units, programs: Its service, by systemd unit and by name of the process. Both are empty for a runtime without a
            service, which reads its lists at every start of its program.
    """

    name: str
    container_id: re.Pattern[str]
    netns: re.Pattern[str]
    settings: t.Mapping[str, Setting]
    listings: Listings
    id_arg: str = ""
    networks: t.Mapping[str, str] = {}
    units: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    needs_netns: bool = False
    mentions: tuple[str, ...] = ("{id}",)

    def may_own(self, attachment: Attachment) -> bool:
        """Return whether everything that is recorded of an attachment is as this runtime writes it."""
        if not self.container_id.fullmatch(attachment.container_id):
            return False
        if not self.netns.fullmatch(attachment.netns) and (attachment.netns or self.needs_netns):
            return False
        return not self.id_arg or attachment.args.get(self.id_arg) == attachment.container_id

    def names(self, container_id: str) -> list[dict[str, str]]:
        """Return the ways to split a container ID into its parts, which may have hyphens themselves."""
        match = self.container_id.fullmatch(container_id)
        if match is None or "namespace" not in match.groupdict():
            return [match.groupdict()] if match else []
        hyphens = (place for place, char in enumerate(container_id) if char == "-")
        return [{"namespace": container_id[:place], "id": container_id[place + 1 :]} for place in hyphens]

    def find_mentions(self, container_id: str) -> set[str]:
        """Return the texts of which a process of the container has one."""
        return {text.format_map(names) for names in self.names(container_id) for text in self.mentions}


class ContainerRuntime(t.NamedTuple):
    """A container runtime that uses libcni.

    Attributes:
        title: Its name in text.
        units: The systemd units of its service; empty for one that starts a program for each container.
        owner: None for a runtime whose records are those of another one, which is part of it, or that lists no containers.
        through: The runtime that reads the files for it, or an empty string.
    """

    name: str
    title: str
    setup: Setup
    units: tuple[str, ...] = ()
    owner: RecordOwner | None = None
    through: str = ""
