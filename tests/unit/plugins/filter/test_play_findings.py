# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wrong variables are found before any node is called, and reported once for all hosts that have them."""

from __future__ import annotations

import json
import multiprocessing
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleError, AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.play_findings import play_findings

HOSTS = ["one", "two", "three"]


def lan(**ipam: str) -> list[JsonObject]:
    given = {"type": "host-local", "subnet": "192.168.7.0/24", **ipam}
    return [{"config": {"cniVersion": "1.0.0", "name": "lan", "plugins": [{"type": "macvlan", "ipam": given}]}}]


def own(number: int) -> list[JsonObject]:
    return lan(rangeStart=f"192.168.7.{number * 10}", rangeEnd=f"192.168.7.{number * 10 + 9}")


def all_have(**variables: t.Any) -> dict[str, JsonObject]:
    return dict.fromkeys(HOSTS, variables)


WRONG = {
    "unknown": ({"cni_node_prge": True}, "unknown variable: cni_node_prge (did you mean cni_node_purge?)"),
    "concern": ({"cni_node_concerns": "kernel network"}, "cni_node_concerns: unknown: network; expected: any of "),
    "networks": ({"cni_node_conflists": {"name": "x"}}, "cni_node_conflists: expected: a list of networks"),
    "broken text": ({"cni_node_conflists": "- {"}, "cni_node_conflists: expected: a list of networks"),
    "attachments": (
        {"cni_node_attachments": [{"netns": "x"}]},
        "cni_node_attachments: expected: a list of attachments",
    ),
    "name of an attachment": (
        {"cni_node_attachments": [{"network": "a", "netns": "x"}, {"network": "a b", "netns": "x"}]},
        "cni_node_attachments: [1]: network: 'a b' is not a network name; ",
    ),
    "interface of an attachment": (
        {"cni_node_attachments": [{"network": "a", "netns": "x", "ifname": "eth0/1"}]},
        "cni_node_attachments: [0]: CNI_IFNAME: 'eth0/1' is not an interface name; ",
    ),
    "flag": ({"cni_node_no_log": "perhaps"}, "cni_node_no_log: 'perhaps' is neither true nor false; expected: true, "),
    "source": (
        {"cni_node_plugins_source": "https:/me:secret@mirror/x"},
        "cni_node_plugins_source: the URL has no valid scheme; expected: http:// or https://",
    ),
    "source of a set": (
        {"cni_node_plugins_sets": "- {name: tap, source: 'ftp://mirror/x'}"},
        "cni_node_plugins_sets: tap: source: the URL begins with ftp://",
    ),
    "choice": ({"cni_node_check": "often"}, "value of cni_node_check must be one of: always, drift, changed, never"),
}


# By variable, without its prefix: wrong values, and right ones.
VALUES: t.Final[dict[str, tuple[list[t.Any], list[t.Any]]]] = {
    "bin_dir": (["opt/bin", "../bin", "/opt\nbin"], ["/opt/bin", "~/bin", "$HOME/bin"]),
    "cache_dir": (["var"], ["/var/lib/cni/"]),
    "command_path": (["cni-node", "/usr/local/sbin/", 7], ["/usr/bin/cni-node"]),
    "conf_dir": (["net.d"], ["/etc/cni/net.d"]),
    "download_timeout": (["0", -1, "soon", "inf", "nan"], [0.5, "60"]),
    "gateway_timeout": ([-1, "soon", "nan", [1]], [0, "0", 5, 2.5]),
    "gc_min_age": (["-5", {}], ["0", 300]),
    "gc_owners": (["docker-compose", ["podman", "pod"], 7], ["podman\nnomad", ["containerd"]]),
    "gc_release": (["net/id", ["a/b/c/d"], ["net/-id/eth0"], ["net/id/eth0:1"]], ["net/id/eth0"]),
    "keep": (["a", -1, 1.5, "1.5"], [0, "2"]),
    "metrics_path": (["/var/lib/metrics.txt", "m.prom"], ["/var/lib/metrics.prom"]),
    "modules": ([7, ["a b"], {"dummy": True}], ["dummy br_netfilter", ["nf-conntrack"]]),
    "netns": ([7, ["a/b"], ["-a"], [["red"]]], ["red\nblue", ["red"], [7]]),
    "opt_dir": (["opt"], ["/srv"]),
    "packages": ([7, {"a": 1}, [["a"]]], [True, "off", "nftables iproute2", ["nftables"]]),
    "plugin_dirs": (["bin", ["/opt/bin", "bin"]], ["/opt/bin\n/usr/bin", ["/opt/bin"]]),
    "plugins_only": ([7, {"bridge": 1}], ["bridge ptp", ["bridge"]]),
    "plugins_version": ([1.1], ["1.10", 2]),
    "repair_interval": (["often", "1 fortnight"], [5, "30s", "never", "1min 30s"]),
    "repair_networks": (["a/b", 7], ["net", ["net", "lab"]]),
    "repair_on": (["sometimes", ["boot", "halt"], "boot,reload", 7], ["change", "boot\nreload", ["change"]]),
    "repair_owners": (["docker-compose"], ["cni.node", ["podman"]]),
    "repair_resources": (["links"], [["rules", "interfaces"]]),
    "sysctls": (["net.ipv4.ip_forward", 7, ["a"]], ["net.ipv4.ip_forward=1", {"net.ipv4.ip_forward": 1}]),
    "validate_levels": (["fleet", ["schem"]], ["schema", ["node"]]),
}


@pytest.mark.parametrize("name", VALUES)
def test_wrong_values_are_refused_with_the_variable_and_what_is_expected(name: str) -> None:
    variable, (wrong, right) = f"cni_node_{name}", VALUES[name]
    for value in wrong:
        (error,) = play_findings(all_have(**{variable: value}), HOSTS)["errors"]
        assert error.startswith(f"{variable}: {value!r}; expected: "), error
        assert play_findings({"one": {}}, ["one"], given={variable: value})["errors"] == [error]
    for value in (*right, None, "", " "):
        assert play_findings(all_have(**{variable: value}), HOSTS)["errors"] == [], value


def test_wrong_sets_are_refused_without_their_values_which_may_be_secrets() -> None:
    for sets in ("flannel", ["flannel"], 7, [{"source": "https://example.org/", "url_password": "secret"}]):
        (error,) = play_findings(all_have(cni_node_plugins_sets=sets), HOSTS)["errors"]
        assert error.startswith("cni_node_plugins_sets: expected: a list of sets, each an item of 'sets'")
    for right in ([{"name": "flannel", "version": "1"}], '[{"name": "flannel"}]', None, "", " ", []):
        assert play_findings(all_have(cni_node_plugins_sets=right), HOSTS)["errors"] == []


def test_a_choice_that_yaml_reads_as_false_is_refused() -> None:
    (error,) = play_findings(all_have(cni_node_builtin=False), HOSTS)["errors"]
    assert error == "value of cni_node_builtin must be one of: missing, always, never, got: False"
    for right in ("never", None, "", " "):
        assert play_findings(all_have(cni_node_builtin=right), HOSTS)["errors"] == []


@pytest.mark.parametrize("value", [False, 0, {}, "no", "{}"], ids=repr)
@pytest.mark.parametrize("name", ["conflists", "attachments", "plugins_sets"])
def test_a_value_other_than_a_list_is_not_taken_for_an_empty_list(name: str, value: object) -> None:
    (error,) = play_findings(all_have(**{f"cni_node_{name}": value}), HOSTS)["errors"]
    assert error.startswith(f"cni_node_{name}: expected: a list of ")


@pytest.mark.parametrize(("variables", "message"), WRONG.values(), ids=WRONG)
def test_a_finding_of_several_hosts_is_reported_once(variables: JsonObject, message: str) -> None:
    (of_all,) = play_findings(all_have(**variables), HOSTS)["errors"]
    assert of_all.startswith(message)
    assert play_findings({"one": {}}, ["one"], given=variables)["errors"] == [of_all]


def test_variables_of_the_play_take_precedence_over_those_of_its_hosts() -> None:
    inventory = {
        **all_have(cni_node_concerns="networks", cni_node_conflists=lan()),
        "later": {"cni_node_conflists": own(9)},
    }
    hosts = [*HOSTS, "later"]
    assert len(play_findings(inventory, HOSTS, given={"cni_node_conflists": lan()}, given_on="one")["errors"]) == 1
    typed = {"cni_node_concerns": ["network"], "cni_node_conflists": lan()}
    (error,) = play_findings(inventory, HOSTS, given=typed, given_on="one")["errors"]
    assert error.startswith("cni_node_concerns: unknown: network; ")
    # Networks that the play does not write are not compared. Those of hosts outside it are.
    found = play_findings(inventory, HOSTS, hosts, {"cni_node_conflists": own(1)}, given_on="one")
    assert found["errors"] == []
    assert [warning.partition(":")[0] for warning in found["warnings"]] == ["two", "three"]
    assert "its networks were not compared with those of other hosts: " in found["warnings"][0]
    (error,) = play_findings(inventory, HOSTS, hosts, {"cni_node_conflists": own(9)}, given_on="one")["errors"]
    assert " is on 2 nodes: later and one " in error


def test_a_default_of_the_role_does_not_replace_the_variables_of_other_hosts() -> None:
    inventory = {"one": {}, "two": {"cni_node_concerns": "network", "cni_node_check": "often"}}
    defaults = {"cni_node_concerns": [], "cni_node_check": "always"}
    errors = play_findings(inventory, ["one", "two"], given=defaults, given_on="one")["errors"]
    assert [error.partition(":")[0] for error in errors] == [
        "cni_node_concerns",
        "value of cni_node_check must be one of",
    ]


def test_a_misspelled_variable_of_the_play_is_found_by_its_name() -> None:
    (error,) = play_findings({"one": {}}, ["one"], names=["cni_node_purge", "cni_node_prge"])["errors"]
    assert "cni_node_prge" in error
    assert "cni_node_purge" in error.partition("did you mean")[2]


def test_a_finding_names_its_hosts_if_other_hosts_do_not_have_it() -> None:
    hostvars = {**all_have(cni_node_check="drift"), "two": {"cni_node_check": "often"}}
    (error,) = play_findings(hostvars, HOSTS)["errors"]
    assert error.startswith("two: value of cni_node_check must be one of")


@pytest.mark.parametrize("networks", [lan(), json.dumps(lan())], ids=["data", "text"])
def test_nodes_of_one_lan_with_the_same_addresses_are_one_error(networks: object) -> None:
    (error,) = play_findings(all_have(cni_node_conflists=networks), ["two"], nodes=HOSTS)["errors"]
    assert "node-subnets-collide" in error
    assert "cni.node.node_subnets" in error


def test_different_addresses_on_each_node_cause_no_finding() -> None:
    hostvars = {host: {"cni_node_conflists": own(number)} for number, host in enumerate(HOSTS, 1)}
    assert play_findings(hostvars, HOSTS) == {"errors": [], "warnings": []}


@pytest.mark.parametrize(
    "given", [{"cni_node_concerns": ["plugins"]}, {"cni_node_concerns": "kernel attachments"}], ids=str
)
def test_unmanaged_networks_are_not_compared(given: JsonObject) -> None:
    assert play_findings(all_have(cni_node_conflists=lan()), HOSTS, given=given)["errors"] == []


def test_networks_that_are_removed_are_not_compared() -> None:
    networks = [{**network, "state": "absent"} for network in lan()]
    assert play_findings(all_have(cni_node_conflists=networks), HOSTS)["errors"] == []


def test_networks_that_differ_are_a_warning() -> None:
    other = own(3)
    other[0]["config"]["plugins"][0]["mtu"] = 1400
    hostvars = {"one": {"cni_node_conflists": own(1)}, "two": {"cni_node_conflists": other}}
    findings = play_findings(hostvars, ["one", "two"])
    assert (findings["errors"], len(findings["warnings"])) == ([], 1)
    assert "network-differs" in findings["warnings"][0]


class Unready(dict[str, t.Any]):
    """Variables of a host whose facts were not gathered."""

    def __getitem__(self, key: str) -> t.Any:
        raise AnsibleError("'ansible_facts' is undefined")


def test_a_host_whose_networks_cannot_be_evaluated_is_named() -> None:
    hostvars = {"one": {"cni_node_conflists": lan()}, "two": Unready(cni_node_conflists=lan())}
    findings = play_findings(hostvars, ["one", "two"])
    assert findings == {
        "errors": [],
        "warnings": [
            "two: its networks were not compared with those of other hosts: cni_node_conflists: 'ansible_facts' is undefined"
        ],
    }


def test_an_unrendered_template_is_not_compared_as_a_value() -> None:
    hostvars = {"one": {"cni_node_conflists": "{{ later }}"}, "two": {"cni_node_conflists": lan()}}
    findings = play_findings(hostvars, ["one", "two"])
    assert (findings["errors"], [warning[:9] for warning in findings["warnings"]]) == ([], ["one: its "])


@pytest.mark.parametrize(
    "arguments", [(None, []), ({}, "one"), ({}, [None]), ({}, [], "two"), ({}, [], [], "x")], ids=str
)
def test_arguments_of_another_form_are_refused(arguments: tuple[t.Any, ...]) -> None:
    with pytest.raises(AnsibleFilterError, match="play_findings: "):
        play_findings(*arguments)


def test_networks_are_compared_only_on_request() -> None:
    hostvars = all_have(cni_node_conflists=lan())
    assert play_findings(hostvars, HOSTS)["errors"] != []
    assert play_findings(hostvars, HOSTS, compared=False) == {"errors": [], "warnings": []}


class CountedVariables(dict[str, JsonObject]):
    """Variables of hosts that count how often they are read."""

    count = 0

    def __getitem__(self, host: str) -> JsonObject:
        self.count += 1
        return super().__getitem__(host)


def count_reads() -> list[int]:
    hostvars, counts = CountedVariables(all_have(cni_node_conflists=lan())), []
    for given in ({}, {}, {"cni_node_check": "often"}):
        play_findings(hostvars, HOSTS, given=given)
        counts.append(hostvars.count)
    return counts


def test_the_process_of_a_task_looks_at_the_nodes_once_for_the_same_arguments() -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        first, second, third = pool.apply(count_reads)
    assert 0 < first == second < third
    first, second, third = count_reads()
    assert 0 < first < second < third
