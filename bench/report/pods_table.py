"""The table of pods: ours beside runc and podman; a ratio is that to the better of the two."""
from table import UNMEASURED, Bar, markdown, shown, verdict
import statistics

PEERS = ("runc", "podman")
HEADINGS = ["pods (medians of rounds)", "ours", "runc run", "podman run", "better by", "bar", "holds"]


def rows(figures, plan):
    made = Rows(figures)
    made.add("created → first instruction, one by one: p50", "pods", "p50_ms", "ms", Bar("≤ 4 ms", ours_at_most=4))
    made.add("created → first instruction, one by one: p99", "pods", "p99_ms", "ms", Bar("≤ 15 ms", ours_at_most=15))
    made.ratio("created → first instruction, one by one: beside the peers", "pods", "p50_ms", Bar("≥ 10 ×", 10))
    made.add("server, keeper, shim and sandbox CPU a pod, one by one", "pods", "cpu_ms", "ms", Bar("≤ 6 ms", ours_at_most=6))
    made.add("8 at a time: pods a second", "pods at once", "per_second", "", Bar("≥ 400", ours_at_least=400), more=True)
    made.ratio("8 at a time: beside the peers", "pods at once", "per_second", Bar("≥ 10 ×", 10), more=True)
    made.add("8 at a time: first instruction, p99", "pods at once", "p99_ms", "ms")
    made.add("8 at a time: CPU a pod", "pods at once", "cpu_ms", "ms", Bar("≤ 6 ms", ours_at_most=6))
    title = f"{plan.jobs:,} one-line Jobs"
    share = plan.jobs / 1000
    made.add(f"{title}: all Complete", "jobs", "seconds", "s", Bar(f"≤ {15 * share:g} s", ours_at_most=15 * share))
    made.add(f"{title}: server CPU", "jobs", "server_cpu_s", "s", Bar(f"≤ {5 * share:g} s", ours_at_most=5 * share))
    made.add(f"{title}: CPU with shims and sandboxes", "jobs", "all_cpu_s", "s")
    title = f"{plan.idle_pods} idle pods"
    made.add(f"{title}: private memory a shim", "idle pods", "private_kb", "kB", Bar("≤ 150 kB", ours_at_most=150))
    made.add(f"{title}: the largest shim", "idle pods", "private_kb_most", "kB")
    made.add(f"{title}: CPU of all that serves", "idle pods", "cpu_percent", "%", Bar("≤ 0.1 %", ours_at_most=0.1))
    made.add(f"{title}: server resident", "idle pods", "server_mb", "MB")
    made.add("a log flood slows another pod's step by", "flood", "slower_percent", "%", Bar("≤ 10 %", ours_at_most=10))
    made.add("a log flood: kept of it", "flood", "kept_mb", "MB", Bar("≥ 50 MB", ours_at_least=50))
    made.add("a log flood followed: MB a second", "flood", "follow_mb_s", "")
    made.add("a log flood followed: lines lost without a word", "flood", "lines_lost_silently", "", Bar("0", ours_at_most=0))
    made.add("asked → first instruction: p50", "syncs", "plain_ms", "ms")
    made.add("the same with 5 ms more a sync: p50", "syncs", "slow_ms", "ms")
    made.add("commits between asking for a pod and its first instruction", "syncs", "commits", "",
             Bar("≤ 2", ours_at_most=2.2))
    return made.rows


class Rows:
    def __init__(self, figures):
        self.figures, self.rows = figures, []

    def median(self, name, server, key):
        found = self.figures.get((name, server))
        return statistics.median(figure[key] for figure in found) if found else None

    def best(self, name, key, more):
        """The better of the peers."""
        there = [value for value in (self.median(name, peer, key) for peer in PEERS) if value is not None]
        return (max if more else min)(there) if there else None

    def add(self, what, name, key, unit, bar=None, more=False):
        ours = self.median(name, "ours", key)
        if ours is None:
            return
        best = self.best(name, key, more)
        ratio = None if best is None or min(ours, best) <= 0 else ours / best if more else best / ours
        self.rows.append([what, shown(ours, unit), *(shown(self.median(name, peer, key), unit) for peer in PEERS),
                          UNMEASURED if ratio is None else f"{ratio:.1f} ×", bar.text if bar else UNMEASURED,
                          verdict(bar, ours, None)])

    def ratio(self, what, name, key, bar, more=False):
        ours, best = self.median(name, "ours", key), self.best(name, key, more)
        if ours is None:
            return
        ratio = None if best is None else ours / best if more else best / ours
        self.rows.append([what, UNMEASURED, UNMEASURED, UNMEASURED, UNMEASURED if ratio is None else f"{ratio:.1f} ×",
                          bar.text, verdict(bar, ours, ratio)])


def text(all_rows, notes):
    lines = [HEADINGS] + all_rows
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    out = ["  ".join([line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]).rstrip()
           for line in lines]
    out.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(out + notes)


def each_round(figures):
    lines = [["each round", "ours", "runc run", "podman run"]]
    for title, name, key in (("one by one, p50 in ms", "pods", "p50_ms"), ("one by one, CPU in ms", "pods", "cpu_ms"),
                             ("8 at a time, a second", "pods at once", "per_second"),
                             ("8 at a time, CPU in ms", "pods at once", "cpu_ms")):
        lines.append([title] + [", ".join(f"{figure[key]:.3g}" for figure in figures.get((name, server), [])) or UNMEASURED
                                for server in ("ours", *PEERS)])
    return markdown(lines)


def section(all_rows, notes, figures):
    if not all_rows:
        return ""
    told = "".join(f"- {note}\n" for note in notes)
    return f"""## Pods

{markdown([HEADINGS] + all_rows)}

- A pod is created over the server's socket with a token, an address of the island, a hostPath volume and a libc-free
  command (`bench/pods/stamp.cpp`) that writes the time of its first instruction into a FIFO. The time runs from the moment
  the client has read the answer; for runc and podman from the start of `runc run` or `podman run`.
- runc runs a bundle with namespaces of its own on the host's /usr, without an address; podman the same root folder with
  `--network none`. Neither schedules, stores a state that survives a crash, nor keeps logs and exit codes: ours does.
- 8 at a time: a pod is under way until its first instruction. CPU is that of the server, its keeper, the shims and the
  sandboxes they made, until the last has gone; for the peers that of the command and its children.
- Commits: a second server runs beside, whose every sync of the store takes 5 ms longer (`TRAINYARD_SYNC_DELAY_MS=5`, which is
  there for this alone); what a pod's start takes longer by, over 5 ms. A tenth above a whole number is the machine's.
- The peers' ratio is that to the better of the two.
{told}
{each_round(figures)}
"""
