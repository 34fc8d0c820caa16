"""Images of a working disk, taken at one moment each, mounted again and judged.

Three workers change a home and a project on a loop device and note, elsewhere, what was acknowledged. Now and then they are stopped
(SIGSTOP), what was noted is read, and the device's file is copied: what only the page cache had is lost. Each image is then mounted
in the place of the disk, once in the same boot and once in another one (a private mount over `boot_id`). Nothing that was acknowledged
may be missing, `doctor` must find nothing, and every command must work. A plain file that is appended to and synced is the control: if
that lost something, the image would prove nothing.
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BOOT_ID = "/proc/sys/kernel/random/boot_id"
SYSTEMS = {
    "ext4": (["mkfs.ext4", "-q", "-F"], "64M", "commit=300"),
    "ext4-nojournal": (["mkfs.ext4", "-q", "-F", "-O", "^has_journal"], "64M", "noatime"),
    "xfs": (["mkfs.xfs", "-q", "-f"], "320M", "noatime"),
    "btrfs": (["mkfs.btrfs", "-q", "-f"], "160M", "commit=300"),
}
# What is tried unless others are named. On ext4 without its journal (`run ext4-nojournal`), fsck drops names that were exchanged
# shortly before, and finds blocks that two files claim: a document may then hold the valid text of another one, which passes for
# an edit by hand. Some of these images still fail.
USUAL = ["ext4", "xfs", "btrfs"]
WORKERS = 3
# Images of one disk, before a fresh one is made.
PER_DISK = 5


class Store:
    """Commands on the home and the project of one disk."""

    def __init__(self, mount):
        self.mount = mount
        self.start = [os.environ["ANTHILL_BIN"], "--home", f"{mount}/home", "--root", f"{mount}/project"]

    def run(self, *words, text=""):
        environment = {"PATH": os.environ["PATH"], "HOME": f"{self.mount}"}
        return subprocess.run([*self.start, *words], input=text, capture_output=True, text=True, env=environment)

    def read(self, *words):
        ran = self.run("get", *words)
        if ran.returncode != 0:
            raise Violation(f"get {' '.join(words)}: exit {ran.returncode}: {ran.stderr.strip()[:300]}")
        return json.loads(ran.stdout)


class Violation(Exception):
    pass


def work(mount, number, noted):
    """Changes things for ever; notes what was acknowledged, one JSON array per line."""
    store, chance = Store(mount), random.Random(number)
    log = open(noted, "a", buffering=1)
    me, control = f"s{number}", open(f"{mount}/control-{number}", "ab", buffering=0)

    def act(fact, *words, text=""):
        if store.run(*words, text=text).returncode == 0 and fact:
            log.write(json.dumps(fact) + "\n")

    act(["session", me], "session", "start", "--session-id", me, me)
    for turn in range(1_000_000):
        control.write(b"%8d\n" % turn)
        os.fdatasync(control.fileno())
        log.write(json.dumps(["control", turn]) + "\n")
        task, other = f"t{number}-{turn}", f"s{chance.randrange(WORKERS)}"
        act(["task", task], "leader", "add-task", f"do {turn}", "--id", task)
        act(["message", f"m{number}-{turn}", other], "message", "send", me, other, "note", f'"{turn}"', "--id", f"m{number}-{turn}")
        if turn % 2 == 0:
            act(["config", turn], "set", "config", f"features.w{number}", str(turn))
        ran = store.run("worker", "claim", f"w{number}", "--json")
        if ran.returncode == 0:
            claimed = json.loads(ran.stdout)
            claimed = claimed.get("task", claimed).get("id")
            log.write(json.dumps(["claimed", claimed]) + "\n")
            if turn % 3:
                act(["done", claimed], "worker", "complete", f"w{number}", claimed, "it is done")
        event = {"hook_event_name": "UserPromptSubmit", "session_id": me, "cwd": f"{mount}/project", "prompt": f"go on {turn}"}
        act(None, "hook", text=json.dumps(event))
        if turn % 4 == 0:
            act(["pipeline", turn] if number == 0 else None, "set", "pm_state", f"turn_{number}", str(turn))


def judge(mount, facts_file):
    """Compares a disk with what was acknowledged on it. Prints violations."""
    store, facts = Store(mount), json.loads(Path(facts_file).read_text())
    found = []

    def check(what):
        try:
            what()
        except Violation as violation:
            found.append(str(violation))

    def works(*words, text="", codes=(0,)):
        ran = store.run(*words, text=text)
        if ran.returncode not in codes:
            found.append(f"{' '.join(words)}: exit {ran.returncode}: {(ran.stderr + ran.stdout).strip()[:300]}")

    def compare():
        tasks = {task["id"]: task["status"] for task in store.read("queue")["tasks"]}
        config = store.read("config")
        mail, trouble = {}, found.append
        for number, noted in enumerate(facts):
            last = {}
            for kind, what, *rest in noted:
                if kind == "task" and what not in tasks:
                    trouble(f"task {what} is lost")
                elif kind == "claimed" and tasks.get(what) in ("created", "available"):
                    trouble(f"the claim of {what} is lost: {tasks.get(what)}")
                elif kind == "done" and tasks.get(what) != "done":
                    trouble(f"the end of {what} is lost: {tasks.get(what)}")
                elif kind == "message":
                    if rest[0] not in mail:
                        mail[rest[0]] = {message["id"] for message in store.read("mailbox", "--session-id", rest[0])["messages"]}
                    if what not in mail[rest[0]] and not list(Path(mount).glob(f"far/messages/{rest[0]}/*/{what}.json")):
                        trouble(f"message {what} to {rest[0]} is lost")
                elif kind == "session":
                    store.read("session", "--session-id", what)
                last[kind] = what
            if config["features"].get(f"w{number}", -1) < last.get("config", -1):
                trouble(f"the configuration lost {last['config']} of worker {number}")
            if "pipeline" in last and store.read("pm_state").get("turn_0", -1) < last["pipeline"]:
                trouble(f"pm_state lost {last['pipeline']}")

    check(compare)
    works("doctor")
    check(compare)
    works("session", "heartbeat", "s0")
    works("session", "list")
    works("message", "send", "s0", "s1", "note", '"after"', "--id", "after")
    works("message", "poll", "s1")
    works("leader", "add-task", "after", "--id", "after")
    works("worker", "claim", "w9", codes=(0, 4))
    works("set", "config", "features.after", "true")
    works("hook", text=json.dumps({"hook_event_name": "SessionStart", "session_id": "s0", "cwd": f"{mount}/project"}))
    works("leader", "status")
    works("log")
    works("doctor")
    print("\n".join(what.replace("\n", " / ") for what in found))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=50)
    parser.add_argument("systems", nargs="*", default=USUAL)
    wanted = parser.parse_args()
    violations = 0
    for system in wanted.systems or USUAL:
        obstacle = obstacle_to(system)
        if obstacle:
            print(f"skipped: {system}: {obstacle}", flush=True)
        else:
            violations += sweep(system, wanted.images)
    return 1 if violations else 0


def obstacle_to(system):
    """Says why there can be no images of this file system here; `None` if there can."""
    make, size, _ = SYSTEMS[system]
    if not shutil.which(make[0]):
        return f"there is no {make[0]}"
    with tempfile.TemporaryDirectory(prefix="anthill-power-") as here:
        disk, mount = f"{here}/disk", f"{here}/mount"
        os.mkdir(mount)
        for command in (["truncate", "-s", size, disk], [*make, disk], ["mount", "-o", "loop", disk, mount]):
            ran = subprocess.run(command, capture_output=True, text=True)
            if ran.returncode != 0:
                return f"{command[0]} does not work here: {ran.stderr.strip()[:200]}"
        unmount(mount)
    return None


def sweep(system, wanted):
    taken, useless, violations = 0, 0, 0
    while taken + useless < wanted:
        with tempfile.TemporaryDirectory(prefix="anthill-power-") as here:
            for number in range(images_of(system, here, min(PER_DISK, wanted - taken - useless))):
                outcome = judge_image(system, here, number)
                if outcome is None:
                    useless += 1
                    continue
                taken += 1
                violations += len(outcome)
                for what in outcome[:10]:
                    print(f"{system}: {what}")
                if outcome and os.environ.get("ANTHILL_KEEP_IMAGES"):
                    shutil.copytree(here, f"{os.environ['ANTHILL_KEEP_IMAGES']}/{system}-{taken}", dirs_exist_ok=True)
    print(f"{system}: {taken} images, each in two boots, {violations} violations; {useless} lost the control file and were not counted", flush=True)
    return violations


def mount_at(image, where, options="noatime"):
    subprocess.run(["mount", "-o", f"loop,{options}", image, where], check=True)


def unmount(where):
    """Waits for those who were killed, or run on for a moment after a command."""
    for _ in range(100):
        if subprocess.run(["umount", where], capture_output=True).returncode == 0:
            return
        time.sleep(0.1)
    subprocess.run(["umount", where], check=True)


def images_of(system, here, count):
    """Lets workers work on a fresh disk and takes images of it."""
    make, size, options = SYSTEMS[system]
    disk, mount = f"{here}/disk", f"{here}/mount"
    os.mkdir(mount)
    subprocess.run(["truncate", "-s", size, disk], check=True)
    subprocess.run([*make, disk], check=True, capture_output=True)
    mount_at(disk, mount, options)
    workers = []
    try:
        os.makedirs(f"{mount}/project/.git")
        store = Store(mount)
        for words in (["set", "config", "paths", json.dumps({"shared_state": f"{mount}/far", "session_state": f"{mount}/far/sessions"})],
                      ["leader", "init", "images of power loss"], ["pipeline", "init", "images of power loss"]):
            ran = store.run(*words)
            assert ran.returncode == 0, ran.stderr
        os.sync()
        for number in range(WORKERS):
            command = [sys.executable, __file__, "--work", mount, str(number), f"{here}/noted-{number}"]
            Path(f"{here}/noted-{number}").touch()
            workers.append(subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL))
        for number in range(count):
            time.sleep(random.uniform(0.5, 3))
            take(workers, here, disk, number)
    finally:
        for worker in workers:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
        unmount(mount)
    return count


def take(workers, here, disk, number):
    for worker in workers:
        os.killpg(worker.pid, signal.SIGSTOP)
    lines = [Path(f"{here}/noted-{which}").read_text().split("\n")[:-1] for which in range(WORKERS)]
    subprocess.run(["cp", "--sparse=always", disk, f"{here}/image-{number}"], check=True)
    for worker in workers:
        os.killpg(worker.pid, signal.SIGCONT)
    Path(f"{here}/facts-{number}").write_text(json.dumps([[json.loads(line) for line in noted] for noted in lines]))


def judge_image(system, here, number):
    """Returns the violations of an image; `None` if it lost the control file, so that it proves nothing."""
    found = []
    for boot in ("same boot", "another boot"):
        copy = f"{here}/judged"
        subprocess.run(["cp", "--sparse=always", f"{here}/image-{number}", copy], check=True)
        if system == "ext4-nojournal":
            subprocess.run(["e2fsck", "-fy", copy], capture_output=True)
        mount_at(copy, f"{here}/mount", "nouuid" if system == "xfs" else "noatime")
        try:
            if lost_control(here, number):
                return None
            command = [sys.executable, __file__, "--judge", f"{here}/mount", f"{here}/facts-{number}"]
            if boot == "another boot":
                Path(f"{here}/boot").write_text("00000000-0000-4000-8000-%012d\n" % number)
                command = ["unshare", "-m", "sh", "-c", f'mount --bind {here}/boot {BOOT_ID} && exec "$@"', "-", *command]
            ran = subprocess.run(command, capture_output=True, text=True)
            said = (ran.stdout + ran.stderr).split("\n")
            found += [f"image {number}, {boot}: {line}" for line in said if line.strip()]
        finally:
            unmount(f"{here}/mount")
            os.remove(copy)
    return found


def lost_control(here, number):
    for which, noted in enumerate(json.loads(Path(f"{here}/facts-{number}").read_text())):
        last = max((fact[1] for fact in noted if fact[0] == "control"), default=-1)
        path = Path(f"{here}/mount/control-{which}")
        if last >= 0 and (not path.exists() or len(path.read_bytes()) < 9 * (last + 1)):
            return True
    return False


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    elif sys.argv[1:2] == ["--judge"]:
        judge(sys.argv[2], sys.argv[3])
    else:
        sys.exit(main())
