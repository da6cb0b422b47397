"""What the YAML says of security and volumes, as a pod's own processes see it; as root and as an ordinary user
(YARD_E2E_USER). What only root can give asks for `as_root`."""
import errno
import json
import os
import re
import subprocess

import pytest

from harness import Kubectl, newest_kubectl, eventually
from pods import end_state, finished, output, pod, shell, status

SECCOMP = "grep ^Seccomp: /proc/self/status | tr -d '\\t'"


@pytest.fixture
def kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


@pytest.fixture
def as_root(yard):
    if yard.user:
        pytest.skip("an ordinary user cannot give this to a pod")


def volume_pod(name, script, volumes, mounts, **spec):
    return shell(name, script, container={"volumeMounts": mounts}, volumes=volumes, **spec)


def waiting(kubectl, name):
    return eventually(lambda: status(kubectl, name).get("containerStatuses", [{}])[0].get("state", {}).get("waiting", {})
                      .get("message"), about=f"{name} says why it waits")


def test_dangerous_system_calls_are_refused(kubectl):
    script = ("import ctypes, errno\n"
              "libc = ctypes.CDLL(None, use_errno=True)\n"
              "def call(*arguments):\n"
              "    libc.syscall(*arguments)\n"
              "    return errno.errorcode[ctypes.get_errno()]\n"
              "print(call(165, 0, 0, 0, 0, 0), call(272, 0x10000000), call(250, 0, 0, 0), call(435, 0, 0), call(425, 1, 0))\n"
              "import threading, subprocess\n"
              "thread = threading.Thread(target=print, args=('threads',)); thread.start(); thread.join()\n"
              "subprocess.run(['echo', 'processes'])\n")
    assert output(kubectl, pod("filtered", "python3", "-u", "-c", script)) == "EPERM EPERM EPERM ENOSYS EPERM\nthreads\nprocesses\n"


@pytest.mark.parametrize("profile, mode", [(None, 2), ("RuntimeDefault", 2), ("Unconfined", 0)])
def test_seccomp_profiles(kubectl, profile, mode):
    context = {"securityContext": {"seccompProfile": {"type": profile}}} if profile else {}
    assert output(kubectl, shell("profile", SECCOMP, container=context)) == f"Seccomp:{mode}\n"


def profile_of_the_node(yard, name, profile):
    folder = os.path.join(yard.state, "seccomp", "mine")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
        stream.write(profile if isinstance(profile, str) else json.dumps(profile))
    yard.give(os.path.join(yard.state, "seccomp"))
    return {"seccompProfile": {"type": "Localhost", "localhostProfile": f"mine/{name}"}}


def test_a_profile_of_the_node(yard, kubectl):
    """One that forbids, and says with which error; rules may look at arguments."""
    context = profile_of_the_node(yard, "deny.json", {"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64"], "syscalls": [
        {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.EROFS},
        {"names": ["kill"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 1, "value": 10, "op": "SCMP_CMP_EQ"}]}]})
    script = ("import os, errno\n"
              "def tried(call, *arguments):\n"
              "    try: call(*arguments); return 'ok'\n"
              "    except OSError as problem: return errno.errorcode[problem.errno]\n"
              "print(tried(os.mkdir, '/tmp/x'), tried(os.kill, os.getpid(), 10), tried(os.kill, os.getpid(), 0))\n")
    assert output(kubectl, pod("local", "python3", "-c", script, securityContext=context)) == "EROFS EPERM ok\n"


def test_a_profile_that_names_what_is_allowed(yard, kubectl):
    """As docker's own: everything else fails, and what is younger than the profile is as if it were not there."""
    names = ("access arch_prctl brk capget clock_nanosleep clone close close_range dup dup2 dup3 execve exit exit_group faccessat faccessat2 fadvise64 "
             "fchdir fcntl fstat fstatfs futex getcwd getdents64 getegid geteuid getgid getpgrp getpid getppid getrandom getuid ioctl "
             "lseek mmap mprotect munmap newfstatat open openat pipe pipe2 poll prctl pread64 prlimit64 read readlink readlinkat rseq "
             "rt_sigaction rt_sigprocmask rt_sigreturn set_robust_list set_tid_address sigaltstack stat statfs statx sysinfo uname vfork "
             "wait4 waitid write writev lgetxattr getxattr").split()
    context = profile_of_the_node(yard, "allow.json", {"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": names, "action": "SCMP_ACT_ALLOW"}]})
    said = output(kubectl, shell("narrow", "mkdir /tmp/x 2>/dev/null || echo no; grep Seccomp: /proc/self/status | tr -d '\\t'", securityContext=context))
    assert said == "no\nSeccomp:2\n"


@pytest.mark.parametrize("name, profile, words", [
    ("broken.json", "{", "seccompProfile \"mine/broken.json\": "),
    ("no-action.json", {}, "the seccomp profile has no defaultAction"),
    ("listens.json", {"defaultAction": "SCMP_ACT_NOTIFY"}, "nobody listens here")])
def test_a_profile_that_is_none_is_refused_with_a_reason(yard, kubectl, name, profile, words):
    context = profile_of_the_node(yard, name, profile)
    kubectl("apply", "-f", "-", stdin=shell("local", "true", securityContext=context))
    assert words in waiting(kubectl, "local")


def test_a_profile_that_is_not_there(kubectl):
    context = {"seccompProfile": {"type": "Localhost", "localhostProfile": "none.json"}}
    kubectl("apply", "-f", "-", stdin=shell("local", "true", securityContext=context))
    assert "/seccomp/none.json\": there is no such file: put it there" in waiting(kubectl, "local")


def test_the_user_a_pod_asks_for(yard, kubectl):
    context = {"runAsUser": 1234, "runAsGroup": 2345, "runAsNonRoot": True}
    script = "id -u; id -g; touch /work/x && stat -c %u /work/x; grep CapEff /proc/self/status | tr -d '\\t'; cd; pwd; touch mine && echo home"
    one = volume_pod("who", script, [{"name": "w", "emptyDir": {}}], [{"name": "w", "mountPath": "/work"}], securityContext=context)
    assert output(kubectl, one) == "1234\n2345\n1234\nCapEff:0000000000000000\n/home/pod\nhome\n"


def test_groups_and_fs_group(as_root, kubectl):
    context = {"runAsUser": 1000, "supplementalGroups": [3000], "fsGroup": 4000}
    kubectl("create", "secret", "generic", "key", "--from-literal=k=v")
    script = "id -G; stat -c '%g %A' /work /memory; cat /key/k; touch /work/x; stat -c %g /work/x; stat -Lc '%g %a' /key/k"
    one = volume_pod("groups", script, [{"name": "w", "emptyDir": {}}, {"name": "m", "emptyDir": {"medium": "Memory"}},
                                        {"name": "k", "secret": {"secretName": "key", "defaultMode": 0o400}}],
                     [{"name": "w", "mountPath": "/work"}, {"name": "m", "mountPath": "/memory"}, {"name": "k", "mountPath": "/key"}],
                     securityContext=context)
    assert output(kubectl, one) == "0 3000 4000\n4000 drwxrwsrwx\n4000 drwxrwsrwt\nv4000\n4000 440\n"


def test_run_as_non_root_is_held(kubectl):
    kubectl("apply", "-f", "-", stdin=[shell("unsaid", "true", securityContext={"runAsNonRoot": True}),
                                       shell("said", "true", securityContext={"runAsNonRoot": True, "runAsUser": 0})])
    assert re.fullmatch(r'container has runAsNonRoot and image will run as root \(pod: "unsaid_.*\(.*\)", container: c\)', waiting(kubectl, "unsaid"))
    assert waiting(kubectl, "said").startswith("container's runAsUser breaks non-root policy (pod: ")


def test_a_read_only_root(kubectl):
    one = volume_pod("fixed", "touch /x 2>/dev/null || echo fixed; touch /work/x /tmp/x && echo open; touch /proc/sys/kernel/x 2>/dev/null || echo closed",
                     [{"name": "w", "emptyDir": {}}], [{"name": "w", "mountPath": "/work"}])
    one["spec"]["containers"][0]["securityContext"] = {"readOnlyRootFilesystem": True}
    assert output(kubectl, one) == "fixed\nopen\nclosed\n"


def test_the_machine_is_out_of_reach_of_a_root_pod(kubectl):
    script = ("for f in /proc/sysrq-trigger /proc/sys/kernel/panic /sys/kernel/mm/ksm/run; do sh -c \"echo 0 > $f\" 2>/dev/null && echo wrote $f; done; "
              "head -c1 /proc/kcore 2>/dev/null | wc -c; ls /sys/firmware 2>/dev/null | wc -l; cd /dev; echo *")
    lines = output(kubectl, shell("root", script)).splitlines()
    assert lines[0] == "0"
    devices = {name for name in lines[2].split() if not name.startswith("nvidia")}
    assert devices <= {"fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "termination-log",
                       "tty", "urandom", "zero"}


def test_a_privileged_pod_has_the_machine(as_root, kubectl):
    script = f"{SECCOMP}; ls /dev | wc -l; test -w /proc/sys/kernel/panic && echo open"
    one = shell("strong", script, container={"securityContext": {"privileged": True}})
    seccomp, devices, opened = output(kubectl, one).split()
    assert (seccomp, opened) == ("Seccomp:0", "open") and int(devices) > 14


def test_capabilities(kubectl):
    context = {"securityContext": {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}}
    assert output(kubectl, shell("caps", "grep CapEff /proc/self/status | tr -d '\\t'", container=context)) == "CapEff:0000000000000400\n"


def test_containers_that_share_processes(kubectl):
    other = {"name": "other", "image": "x", "command": ["sleep", "4321"]}
    one = shell("shared", "until pgrep -f '^sleep 4321' >/dev/null; do :; done; cat /proc/1/comm; pkill -f '^sleep 4321'; echo found",
                shareProcessNamespace=True)
    one["spec"]["containers"].append(other)
    kubectl("apply", "-f", "-", stdin=one)
    eventually(lambda: status(kubectl, "shared")["phase"] in ("Succeeded", "Failed"))
    assert kubectl("logs", "shared", "-c", "c").out == "pause\nfound\n"


def test_the_machines_processes_and_ipc(kubectl):
    script = "test -d /proc/$(cat /proc/sys/kernel/random/boot_id >/dev/null; echo 1)/ns && cat /proc/1/comm; readlink /proc/self/ns/ipc"
    comm, ipc = output(kubectl, shell("host", script, hostPID=True, hostIPC=True)).split()
    assert comm == open("/proc/1/comm", encoding="utf-8").read().strip()
    assert ipc == os.readlink("/proc/self/ns/ipc")


def sysctls(**values):
    return {"sysctls": [{"name": name.replace("__", "."), "value": value} for name, value in values.items()]}


def test_safe_sysctls_are_set(yard, kubectl):
    asked = {"net__ipv4__ip_local_port_range": "40000\t50000", "net__ipv4__ip_unprivileged_port_start": "80"}
    if not yard.user:  # the ipc namespace of an ordinary user's pod keeps the kernel's own
        asked["kernel__shm_rmid_forced"] = "1"
    files = " ".join("/proc/sys/" + name.replace("__", "/") for name in asked)
    for container in ({}, {"securityContext": {"runAsUser": 1000}}):
        name = f"tuned-{len(container)}"
        text = output(kubectl, shell(name, f"cat {files}", container=container, securityContext=sysctls(**asked)))
        assert text.splitlines() == list(asked.values())
    here = [open("/proc/sys/" + name.replace("__", "/"), encoding="utf-8").read().strip() for name in asked]
    assert here != list(asked.values()), "the machine's own are as they were"


@pytest.mark.parametrize("name, spec, words", [
    ("net.core.somaxconn", {}, "not allowlisted"),
    ("kernel.msgmax", {}, "not allowlisted"),
    ("net.ipv4.tcp_syncookies", {"hostNetwork": True}, "not allowed with host net enabled"),
])
def test_other_sysctls_are_refused(kubectl, name, spec, words):
    kubectl("apply", "-f", "-", stdin=shell("tuned", "true", securityContext={"sysctls": [{"name": name, "value": "1"}]}, **spec))
    now = eventually(lambda: (lambda s: s if s["phase"] == "Failed" else None)(status(kubectl, "tuned")), about="the pod is rejected")
    refusal = f'forbidden sysctl: "{name}" {words}'
    assert (now["reason"], now["message"]) == ("SysctlForbidden", "Pod was rejected: " + refusal)
    events = eventually(lambda: [e for e in kubectl.json("get", "events")["items"] if e["reason"] == "SysctlForbidden"],
                        20, "an Event says why")
    assert (events[0]["type"], events[0]["message"]) == ("Warning", refusal)


@pytest.fixture
def shared_mount(as_root, tmp_path):
    """A folder whose mounts are told to those who follow it."""
    folder = str(tmp_path / "shared")
    os.mkdir(folder)
    subprocess.run(["mount", "-t", "tmpfs", "ours", folder], check=True)
    subprocess.run(["mount", "--make-shared", folder], check=True)
    os.mkdir(f"{folder}/later")
    yield folder
    for path in (f"{folder}/later", folder):
        subprocess.run(["umount", "--lazy", path], check=False, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("propagation, sees", [(None, False), ("None", False), ("HostToContainer", True), ("Bidirectional", True)])
def test_mounts_of_the_machine_that_come_later(kubectl, shared_mount, propagation, sees):
    mount = {"name": "v", "mountPath": "/v", **({"mountPropagation": propagation} if propagation else {})}
    privileged = {"securityContext": {"privileged": True}} if propagation == "Bidirectional" else {}
    kubectl("apply", "-f", "-", stdin=shell("watches", "echo ready > /v/ready; until test -e /v/go; do sleep 0.05; done; ls /v/later",
                                            volumes=[{"name": "v", "hostPath": {"path": shared_mount}}],
                                            container={"volumeMounts": [mount], **privileged}))
    eventually(lambda: os.path.exists(f"{shared_mount}/ready"), 20, "the pod runs")
    subprocess.run(["mount", "-t", "tmpfs", "ours", f"{shared_mount}/later"], check=True)
    for path in (f"{shared_mount}/later/seen", f"{shared_mount}/go"):
        with open(path, "w", encoding="utf-8"):
            pass
    assert end_state(kubectl, "watches")["exitCode"] == 0
    assert kubectl("logs", "watches").out.split() == (["seen"] if sees else [])


def test_a_privileged_pods_mounts_reach_the_machine(kubectl, shared_mount):
    kubectl("apply", "-f", "-", stdin=shell("mounts", "mount -t tmpfs ours /v/later && touch /v/later/from-the-pod",
                                            volumes=[{"name": "v", "hostPath": {"path": shared_mount}}],
                                            container={"securityContext": {"privileged": True},
                                                       "volumeMounts": [{"name": "v", "mountPath": "/v", "mountPropagation": "Bidirectional"}]}))
    assert end_state(kubectl, "mounts")["exitCode"] == 0
    assert os.listdir(f"{shared_mount}/later") == ["from-the-pod"]


def test_only_privileged_pods_may_reach_the_machines_mounts(kubectl):
    refused = kubectl("apply", "-f", "-", expect=1, stdin=shell(
        "plain", "true", volumes=[{"name": "v", "hostPath": {"path": "/tmp"}}],
        container={"volumeMounts": [{"name": "v", "mountPath": "/v", "mountPropagation": "Bidirectional"}]}))
    assert ("spec.containers[0].volumeMounts[0].mountPropagation: Forbidden: Bidirectional mount propagation is available only to "
            "privileged containers") in refused.err


@pytest.mark.parametrize("kind, what", [("Directory", "a directory"), ("File", "a file"), ("Socket", "a socket file"),
                                        ("CharDevice", "a character device"), ("BlockDevice", "a block device")])
def test_host_path_types_are_checked(kubectl, tmp_path, kind, what):
    path = str(tmp_path / "absent")
    kubectl("apply", "-f", "-", stdin=volume_pod("typed", "true", [{"name": "h", "hostPath": {"path": path, "type": kind}}],
                                                 [{"name": "h", "mountPath": "/h"}]))
    expected = f'MountVolume.SetUp failed for volume "h" : hostPath type check failed: {path} is not {what}'
    eventually(lambda: expected in kubectl("describe", "pod", "typed").out, about=expected)


def test_whose_folder_it_is_that_a_pod_may_not_enter(yard, kubectl, tmp_path):
    if not yard.user:
        pytest.skip("NOT TRIED as root, who is refused no folder")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)  # of root, who makes it
    kubectl("apply", "-f", "-", stdin=volume_pod("refused", "true", [{"name": "h", "hostPath": {"path": str(closed)}}],
                                                 [{"name": "h", "mountPath": "/h", "subPath": "deep"}]))
    end = end_state(kubectl, "refused")
    assert re.search(r"the sub-path deep of \S+ \(of user \d+, mode 0700; asked as user \d+\): Permission denied", end["message"]), end


def test_host_paths_that_are_made(kubectl, tmp_path):
    volumes = [{"name": "d", "hostPath": {"path": str(tmp_path / "made"), "type": "DirectoryOrCreate"}},
               {"name": "f", "hostPath": {"path": str(tmp_path / "file"), "type": "FileOrCreate"}},
               {"name": "n", "hostPath": {"path": "/dev/null", "type": "CharDevice"}}]
    mounts = [{"name": "d", "mountPath": "/d"}, {"name": "f", "mountPath": "/srv/deep/f"}, {"name": "n", "mountPath": "/n", "readOnly": True}]
    assert output(kubectl, volume_pod("made", "echo 1 > /d/x; echo 2 > /srv/deep/f; test -c /n && echo device", volumes, mounts)) == "device\n"
    assert (tmp_path / "made" / "x").read_text() + (tmp_path / "file").read_text() == "1\n2\n"


def test_a_sub_path_never_leads_out_of_its_volume(kubectl, tmp_path):
    (tmp_path / "out").symlink_to("/etc")
    kubectl("apply", "-f", "-", stdin=volume_pod("escape", "ls /sub", [{"name": "h", "hostPath": {"path": str(tmp_path)}}],
                                                 [{"name": "h", "mountPath": "/sub", "subPath": "out"}]))
    end = end_state(kubectl, "escape")
    assert end["reason"] == "StartError" and "cannot open the sub-path out" in end["message"]


def test_sub_paths_of_files_and_expressions(kubectl):
    kubectl("create", "configmap", "conf", "--from-literal=app.conf=x=1", "--from-literal=other=y")
    volumes = [{"name": "c", "configMap": {"name": "conf", "defaultMode": 0o640, "items": [{"key": "app.conf", "path": "deep/app.conf", "mode": 0o600}]}},
               {"name": "all", "configMap": {"name": "conf"}}, {"name": "o", "configMap": {"name": "absent", "optional": True}},
               {"name": "w", "emptyDir": {}}]
    one = volume_pod("subs", "cat /etc/no-such-app.conf; stat -Lc ' %a' /c/deep/app.conf; ls /o | wc -l; pwd -P; ls /c; stat -c %a /all/..data/other",
                     volumes, [{"name": "all", "mountPath": "/etc/no-such-app.conf", "subPath": "app.conf"}, {"name": "c", "mountPath": "/c"},
                               {"name": "all", "mountPath": "/all"}, {"name": "o", "mountPath": "/o"},
                               {"name": "w", "mountPath": "/logs", "subPathExpr": "$(POD)/logs"}])
    one["spec"]["containers"][0].update(workingDir="/logs", env=[{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])
    assert output(kubectl, one) == "x=1 600\n0\n/logs\ndeep\n644\n"


def test_a_memory_volume_is_as_large_as_said(kubectl):
    volumes = [{"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}}, {"name": "s", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}]
    mounts = [{"name": "m", "mountPath": "/m"}, {"name": "s", "mountPath": "/dev/shm"}]
    assert output(kubectl, volume_pod("sized", "df -k --output=size /m /dev/shm | tail -n+2 | tr -d ' '", volumes, mounts)) == "8192\n16384\n"


def test_files_of_volumes_follow_their_source(kubectl):
    kubectl("create", "configmap", "rate", "--from-literal=rate=1", "--from-literal=gone=x")
    one = volume_pod("follows", "until [ \"$(cat /v/rate)\" = 2 ]; do :; done; until grep -q big /about/labels; do :; done; "
                                "ls /v; cat /fixed", [{"name": "v", "configMap": {"name": "rate"}},
                                {"name": "about", "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}}],
                     [{"name": "v", "mountPath": "/v"}, {"name": "about", "mountPath": "/about"},
                      {"name": "v", "mountPath": "/fixed", "subPath": "rate"}])
    kubectl("apply", "-f", "-", stdin=one)
    eventually(lambda: status(kubectl, "follows")["phase"] == "Running")
    kubectl("patch", "configmap", "rate", "--type=merge", "-p", '{"data": {"rate": "2", "gone": null, "new": "y"}}')
    kubectl("label", "pod", "follows", "size=big")
    assert end_state(kubectl, "follows")["exitCode"] == 0
    assert kubectl("logs", "follows").out == "new\nrate\n1"


def test_what_the_machine_refuses_is_named(yard):
    conditions = {c["type"]: c for c in yard.request("GET", "/api/v1/nodes").json["items"][0]["status"]["conditions"]}
    degraded, info = conditions["SandboxDegraded"], yard.command("info").out
    if yard.user:
        assert degraded["status"] == "True"
        for words in ("memory limits: Permission denied", "pods run as one ordinary user"):
            assert words in degraded["message"] and words in info
    else:
        assert (degraded["status"], degraded["message"]) == ("False", "pods have all of their sandbox")
        assert "control groups" not in info and "namespaces are refused" not in info


def test_volumes_below_folders_of_the_host(kubectl):
    """Where the host has no such place: a folder and a file below read-only /usr, and what is there stays visible."""
    kubectl("create", "configmap", "below", "--from-literal=key=text")
    text = output(kubectl, shell("below", "echo mine > /usr/share/no-such-place/deep/file && cat /usr/share/no-such-place/deep/file && "
                                          "cat /usr/lib/no-such-file.conf && test -x /usr/bin/env && ls -d /usr/share/doc && "
                                          "! touch /usr/share/no-such-place/other 2>/dev/null && echo whole",
                                 volumes=[{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "below"}}],
                                 container={"volumeMounts": [{"name": "v", "mountPath": "/usr/share/no-such-place/deep"},
                                                             {"name": "c", "mountPath": "/usr/lib/no-such-file.conf", "subPath": "key"}]}))
    assert text == "mine\ntext/usr/share/doc\nwhole\n"


def test_mount_points_and_memory_are_nobody_elses(kubectl):
    """Pods that mount at the same place have one skeleton below their roots: what one does there no other sees."""
    place = {"volumes": [{"name": "v", "emptyDir": {}}], "container": {"volumeMounts": [{"name": "v", "mountPath": "/place/of/mine"}]}}
    look = "ls -A /place /place/of /place/of/mine /dev/shm; stat -c %a /place; ls -d /dev/mine /mine 2>/dev/null"
    clean = output(kubectl, shell("before", look + "; true", **place))
    assert clean == "/dev/shm:\n\n/place:\nof\n\n/place/of:\nmine\n\n/place/of/mine:\n755\n"
    traces = "touch /place/x /place/of/x /place/of/mine/x /dev/shm/x /dev/mine /mine && chmod 700 /place"
    assert "x" in output(kubectl, shell("between", f"{traces} && {look}", **place))
    assert output(kubectl, shell("after", look + "; true", **place)) == clean


def test_a_mount_point_below_a_thousand_folders(yard, kubectl):
    """Stays in memory, and goes with its pod: skeletons, which stay on the disk, are few and small."""
    place = "/a" * 1000
    text = output(kubectl, volume_pod("deep", f"test -d {place} && touch {place}/x && ls {place}", [{"name": "v", "emptyDir": {}}],
                                      [{"name": "v", "mountPath": place}]))
    assert text == "x\n"
    kept = [folder for name in os.listdir(yard.state) if name.startswith("skeleton") for folder in os.listdir(os.path.join(yard.state, name))]
    assert "var" in kept and "a" not in kept


def test_containers_of_a_pod_have_one_memory(kubectl):
    """One after the other, beside each other, and none of it is the machine's."""
    first = {"name": "first", "image": "busybox", "command": ["touch", "/dev/shm/first"]}
    look = "grep ' /dev/shm ' /proc/mounts | cut -d' ' -f3,4 | cut -d, -f1-3; ls /dev/shm"
    assert output(kubectl, shell("one-memory", look, initContainers=[first])) == "tmpfs rw,nosuid,nodev\nfirst\n"
    two = shell("two-containers", "until test -e /dev/shm/first; do sleep 0.05; done")
    two["spec"]["containers"].append(first)
    kubectl("apply", "-f", "-", stdin=two)
    assert finished(kubectl, "two-containers")["phase"] == "Succeeded"
