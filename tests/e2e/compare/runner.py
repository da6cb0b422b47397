"""Runs the script of kubectl commands in compare/script/ against a server and masks what differs between any two runs.

A file of script/ is a group: it has a namespace of its own and a folder with its input files, and its steps run in order,
each by a shell whose `kubectl` is the one under test. Groups do not know of each other and run side by side.
"""
import concurrent.futures
import dataclasses
import difflib
import json
import os
import re
import shlex
import subprocess
import time
import zlib

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
STEP_DEADLINE_S = 30
AT_ONCE = 4

# Applied in order, to standard output and standard error.
MASKS = [
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UID"),
    (r"\beyJ[\w-]+\.[\w-]+\.[\w-]+", "TOKEN"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "TIME"),
    (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} [\d:]+ [+-]\d{4}", "DATE"),
    (r'((?:resourceVersion|selfLink)"?[:=] ?)"?\d+"?', r"\1RV"),
    (r"(with resource version )\d+", r"\1RV"),
    (r"(too old resource version: )\d+ \(\d+\)", r"\1RV (RV)"),
    (r"v1\.\d\d\.\d+[\w.+-]*", "VERSION"),
    (r"https?://127\.0\.0\.1:\d+", "SERVER"),
    (r"127\.0\.0\.1:\d+", "HOST"),
    (r"\b10\.\d{1,3}\.\d{1,3}\.\d{1,3}\b", "IP"),
    (r"(?<=:)3[0-2]\d{3}(?=/(TCP|UDP))", "NODE_PORT"),
    (r"((?:nodePort|healthCheckNodePort)\"?: |NodePort: +\S+ +)3[0-2]\d{3}", r"\1NODE_PORT"),
    (r"(?<=\s)(\d+[smh]){1,2}(?=\s|$)|<invalid>", "AGE"),
    (r"\((\d+[smh]){1,2} ago\)", "(AGE ago)"),
    (r"(Resource Version:\s+)\d+", r"\1RV"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC", "DATE"),
    (r"[IWE]\d{4} [\d:.]+ +\d+ (\w+\.go):\d+\]", r"LOG \1]"),
    (r"[^\s\"]*/kubectl[\w.-]*-edit-\w+(\.\w+)", r"kubectl-edit-N\1"),
    (r"/tmp/(LIVE|MERGED)-\d+", r"\1"),
    (r"\bkubectl-1\.\d+\b", "kubectl"),  # named after its file
    # Over HTTP/1.1 client-go sees, at times, the end of a request it gave up itself as the end of the watch.
    (r"^LOG reflector.go\].*very short watch.*\n?", ""),
    (r"(?<=[^ \n])  +", "  "),  # columns are as wide as their widest age
    (r"[ \t]+$", ""),
]
MASKS = [(re.compile(pattern, re.M), name) for pattern, name in MASKS]


@dataclasses.dataclass
class Step:
    group: str
    number: int
    command: str
    mask: list = dataclasses.field(default_factory=list)  # further [pattern, replacement] pairs
    keep: str = ""  # only lines of standard output with this pattern
    sort: bool = False  # lines in any order
    as_json: bool = False  # members in any order
    name: str = ""

    @property
    def id(self):
        return f"{self.group}/{self.name}"


@dataclasses.dataclass
class Group:
    name: str
    files: dict
    steps: list


READS = re.compile(r"kubectl (get|describe|explain|api-resources|api-versions|auth (can-i|whoami)|top|diff|logs|exec|cp|attach|"
                   r"port-forward|rollout (status|history)|config (view|current|get)|wait .*nosuch)\b[^|;&]*$")


def is_in_short_script(step):
    """All that changes something, and every third of what only looks: stable, so that each look has its turn at one place."""
    if not READS.match(step.command) and step.group != "errors":
        return True
    return zlib.crc32(step.id.encode()) % 3 == 0 or step.number == 0


def load_script():
    groups = []
    for file in sorted(os.listdir(os.path.join(HERE, "script"))):
        with open(os.path.join(HERE, "script", file), encoding="utf-8") as stream:
            data = yaml.safe_load(stream)
        group = file.rsplit(".", 1)[0]
        steps, seen = [], {}
        for number, step in enumerate(data["steps"]):
            step = {"run": step} if isinstance(step, str) else dict(step)
            command = step.pop("run").strip()
            label = re.sub(r"\s+", " ", command)
            seen[label] = seen.get(label, 0) + 1
            step["name"] = label if seen[label] == 1 else f"{label} #{seen[label]}"
            steps.append(Step(group, number, command, as_json=step.pop("json", False), **step))
        groups.append(Group(group, data.get("files", {}), steps))
    return groups


@dataclasses.dataclass
class Target:
    """A server and the kubectl that talks to it."""
    kubeconfig: str
    kubectl: str
    folder: str  # scratch

    def prepare(self, group):
        folder = os.path.join(self.folder, group.name)
        os.makedirs(os.path.join(self.folder, "bin"), exist_ok=True)
        os.makedirs(folder, exist_ok=True)
        for name, text in group.files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text if isinstance(text, str) else yaml.safe_dump(text, sort_keys=False))
        wrapper = os.path.join(self.folder, "bin", "kubectl")
        if not os.path.exists(wrapper):
            with open(wrapper + f".{group.name}", "w", encoding="utf-8") as stream:
                stream.write(f'#!/bin/sh\nexec {self.kubectl} "$@"\n')
            os.chmod(wrapper + f".{group.name}", 0o755)
            os.rename(wrapper + f".{group.name}", wrapper)
        self.write_kubeconfig(folder, group)
        return folder

    def write_kubeconfig(self, folder, group):
        """The same names on both sides, so that what kubectl says about its configuration is the same."""
        with open(self.kubeconfig, encoding="utf-8") as stream:
            given = yaml.safe_load(stream)
        base = os.path.dirname(os.path.abspath(self.kubeconfig))

        def absolute(section):
            return {key: os.path.join(base, value) if key in ("certificate-authority", "client-certificate", "client-key")
                    else value for key, value in section.items()}
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "here",
                  "clusters": [{"name": "cluster", "cluster": absolute(given["clusters"][0]["cluster"])}],
                  "users": [{"name": "admin", "user": absolute(given["users"][0]["user"])}],
                  "contexts": [{"name": "here", "context": {"cluster": "cluster", "user": "admin",
                                                            "namespace": namespace_of(group)}}]}
        with open(os.path.join(folder, "kubeconfig"), "w", encoding="utf-8") as stream:
            yaml.safe_dump(config, stream)

    def environment(self, folder):
        return {"PATH": os.path.join(self.folder, "bin") + ":" + os.environ["PATH"], "HOME": os.path.join(self.folder, "home"),
                "KUBECONFIG": os.path.join(folder, "kubeconfig"), "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC", "TMPDIR": "/tmp",
                "LANG": "C.UTF-8"}


def namespace_of(group):
    return f"compare-{group.name}"


def run_group(target, group):
    """step id -> {code, out, err}, masked."""
    folder = target.prepare(group)
    environment = target.environment(folder)
    namespace = namespace_of(group)
    made = subprocess.run(["kubectl", "create", "namespace", namespace], env=environment, capture_output=True, text=True,
                          timeout=STEP_DEADLINE_S)
    if made.returncode != 0:
        raise RuntimeError(f"namespace {namespace}: {made.stderr}")
    return {step.id: run_step(step, folder, environment) for step in group.steps}


def words_of(command):
    """The words of a command that needs no shell; None for others."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words = list(lexer)
    plain = words[0] == "kubectl" and "$(" not in command and not any(re.fullmatch(r"[|&;<>()]+", word) for word in words)
    return words if plain else None


def await_next_second():
    """kubectl 1.20 shows the time of a write in a diff: none, where it is that of the write before."""
    now = int(time.time())
    while int(time.time()) == now:
        time.sleep(0.02)  # less than a second in all, and nothing but the clock to ask


def run_step(step, folder, environment):
    if step.command.startswith("kubectl diff"):
        await_next_second()
    try:
        done = subprocess.run(words_of(step.command) or ["bash", "-c", step.command], cwd=folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=STEP_DEADLINE_S)
        code, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        code, out, err = -1, (late.stdout or b"").decode(errors="replace"), f"not done within {STEP_DEADLINE_S} s"
    return {"code": code, "out": masked(step, out, folder, True), "err": masked(step, err, folder, False)}


def with_sorted_managers(text):
    """Entries of managedFields stand in the order of their seconds: which they fell into is chance."""
    def in_order(match):
        indent = match.group(1)
        entries = re.split(rf"^(?={indent}- )", match.group(2), flags=re.M)
        return f"{indent}managedFields:\n" + "".join(sorted(entries))
    return re.sub(r"^( *)managedFields:\n((?:\1- .*\n(?:\1  .*\n)*)+)", in_order, text, flags=re.M)


def masked(step, text, folder, is_output):
    if step.as_json and is_output and text.lstrip().startswith(("{", "[")):
        text = json.dumps(json.loads(text), indent=1, sort_keys=True)
    text = text.replace(folder, "FOLDER")
    for pattern, replacement in step.mask:
        text = re.sub(pattern, replacement, text, flags=re.M)
    for pattern, replacement in MASKS:
        text = pattern.sub(replacement, text)
    lines = with_sorted_managers(text).splitlines()
    if step.keep and is_output:
        lines = [line for line in lines if re.search(step.keep, line)]
    if step.sort:
        lines.sort()
    return "\n".join(line.replace("\t", "  ") for line in lines)


def run_script(target, groups):
    """Step id -> outcome. Groups a few at a time; the longest first."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        ordered = sorted(groups, key=lambda group: -len(group.steps))
        outcomes = {}
        for result in pool.map(lambda group: run_group(target, group), ordered):
            outcomes.update(result)
        return outcomes


def difference(theirs, ours):
    """Lines as `-out: theirs` and `+out: ours`; empty when both said the same."""
    lines = []
    if theirs["code"] != ours["code"]:
        lines += [f"-exit {theirs['code']}", f"+exit {ours['code']}"]
    for stream in ("out", "err"):
        for line in difflib.unified_diff(theirs[stream].splitlines(), ours[stream].splitlines(), n=0, lineterm=""):
            if not line.startswith(("---", "+++", "@@")):
                lines.append(f"{line[0]}{stream}: {line[1:]}".rstrip())
    return "\n".join(lines)


RECORDED = os.path.join(os.path.dirname(os.path.dirname(HERE)), "cases", "kubectl")


def recorded_minors():
    """The kubectls whose outputs against a real kube-apiserver are kept."""
    return sorted(int(re.search(r"1\.(\d+)", name).group(1)) for name in os.listdir(RECORDED) if name.endswith(".txt"))


def recorded_path(minor):
    return os.path.join(RECORDED, f"kubectl-1.{minor}.txt")


def write_recorded(minor, outcomes, groups):
    order = [step.id for group in groups for step in group.steps]
    with open(recorded_path(minor), "w", encoding="utf-8") as stream:
        for step in sorted(outcomes, key=order.index):
            outcome = outcomes[step]
            stream.write(f"== {step}\nexit {outcome['code']}\n")
            for name in ("out", "err"):
                stream.writelines(f"{name}| {line}".rstrip() + "\n" for line in outcome[name].splitlines())


def read_recorded(minor):
    outcomes, current = {}, None
    with open(recorded_path(minor), encoding="utf-8") as stream:
        for line in stream.read().splitlines():
            if line.startswith("== "):
                current = outcomes[line[3:]] = {"code": 0, "out": [], "err": []}
            elif line.startswith("exit "):
                current["code"] = int(line[5:])
            else:
                current[line[:3]].append(line[5:])
    return {step: {**outcome, "out": "\n".join(outcome["out"]), "err": "\n".join(outcome["err"])}
            for step, outcome in outcomes.items()}


class Differences:
    """differences.yaml: what may differ, and why. What no longer differs must leave the file.

    A kubectl that shows more or less than the newest has a file of its own beside it, whose entries come first; an empty
    one says that there is no difference there.
    """

    def __init__(self, minor):
        data = self.read("differences.yaml")
        self.everywhere = [(re.compile(one["ours"], re.M), one.get("theirs", "")) for one in data["everywhere"]]
        self.matched = [0] * len(self.everywhere)
        self.steps = {}
        for one in data["steps"]:
            self.steps.update({step: differs.strip() for step, differs in one["differ"].items()})
        own = self.read(f"differences-1.{minor}.yaml")
        for one in own["steps"]:
            self.steps.update({step: differs.strip() for step, differs in one["differ"].items()})
        self.steps = {step: differs for step, differs in self.steps.items() if differs}
        self.may_be_idle = own.get("idle", [])

    @staticmethod
    def read(name):
        path = os.path.join(HERE, name)
        if not os.path.exists(path):
            return {"steps": []}
        with open(path, encoding="utf-8") as stream:
            return yaml.safe_load(stream)

    def as_theirs(self, text):
        """What we say, with what we always say differently put in their words."""
        for index, (pattern, replacement) in enumerate(self.everywhere):
            text, count = pattern.subn(replacement, text)
            self.matched[index] += count
        return text.strip("\n")

    def judge(self, step, theirs, ours):
        """A sentence about what is wrong; empty when nothing is."""
        ours = {**ours, "out": self.as_theirs(ours["out"]), "err": self.as_theirs(ours["err"])}
        found = difference({**theirs, "out": theirs["out"].strip("\n"), "err": theirs["err"].strip("\n")}, ours)
        if step not in self.steps:
            return f"differs from kube-apiserver:\n{found}" if found else ""
        if not found:
            return "is the same by now: take it out of differences.yaml"
        if self.steps[step] != found:
            return f"differs in another way than differences.yaml says. Now:\n{found}"
        return ""

    def stale(self):
        return [pattern.pattern for (pattern, _), count in zip(self.everywhere, self.matched)
                if count == 0 and pattern.pattern not in self.may_be_idle]
