"""What a kill loop has submitted, what became of it, and what must therefore be on the display."""

import json


class Notification:
    """One notification: it is submitted once, changed and taken back or dismissed at most once at a
    time."""

    def __init__(self, serial, level):
        self.serial = serial
        self.level = level
        self.version = 0
        # The outbox's number, once known.
        self.number = None
        # live, removed, dismissed, or perhaps: dismissed on a display that restarted before the
        # host knew.
        self.state = "live"
        self.is_busy = True
        # The idempotency key of its submission; None: it has none, and its client asks the journal
        # after a crash.
        self.key = None

    def title(self, version):
        return f"{self.serial:06d}.{version}"


class Submission:
    """A line of input that is to be taken exactly once."""

    def __init__(self, kind, notification):
        self.kind = kind
        self.notification = notification
        if kind == "update":
            notification.version += 1
        self.version = notification.version
        # A repetition of what was confirmed changes nothing.
        if kind != "again":
            notification.is_busy = True
        self.is_retry = kind == "again"

    def line(self):
        notification = self.notification
        if self.kind == "remove":
            return json.dumps({"number": notification.number, "ev": "r"})
        version = 0 if self.kind == "again" else self.version
        content = {
            "app": "Loop",
            "title": notification.title(version),
            "timestamp": 1234567890,
            "lvl": notification.level,
            "text": f"version {version} of {notification.serial} " + "x" * (notification.serial * 37 % 300),
        }
        if self.kind == "update":
            content["number"] = notification.number
        elif notification.key:
            content["key"] = notification.key
        return json.dumps(content)


class Ledger:
    def __init__(self, random):
        self.random = random
        self.notifications = []
        self.by_number = {}
        # Submissions whose `queued` was not read, by line of the process that they were fed to.
        self.pending = {}
        # What this process has reported about notifications.
        self.heard_count = 0
        # Submissions that are in no journal: the process died before it took them.
        self.lost_on_the_way = []
        self.awaited = set()
        # By number: how often it was reported delivered, and how it was reported to have left.
        self.deliveries = {}
        self.ended = {}
        changes = ("notifications", "updates", "removals", "dismissals", "submittedAgain")
        self.counts = dict.fromkeys((*changes, "withKey", "retriedWithKey", "duplicates", "lost", "doubled"), 0)
        self.findings = []

    def complain(self, text):
        self.findings.append(text)

    def live_count(self):
        return sum(notification.state == "live" for notification in self.notifications)

    # Submitting.

    def draw(self, size, is_full):
        submissions = []
        for _ in range(size):
            idle = [found for found in self.notifications if found.state == "live" and not found.is_busy]
            draw = self.random.random()
            if idle and draw < (0.6 if is_full else 0.12):
                submissions.append(Submission("remove", self.random.choice(idle)))
                self.counts["removals"] += 1
            elif idle and draw < (0.8 if is_full else 0.27):
                submissions.append(Submission("update", self.random.choice(idle)))
                self.counts["updates"] += 1
            else:
                notification = Notification(len(self.notifications), self.random.choice([0, 1, 1, 1, 2, 3]))
                self.notifications.append(notification)
                if self.random.random() < 0.5:
                    notification.key = f"loop {notification.serial}"
                    self.counts["withKey"] += 1
                submissions.append(Submission("add", notification))
                self.counts["notifications"] += 1
        confirmed = [notification for notification in self.notifications if notification.key and notification.number]
        if confirmed and self.random.random() < 0.3:
            # A client that has lost the answer.
            submissions.append(Submission("again", self.random.choice(confirmed)))
            self.counts["retriedWithKey"] += 1
        return submissions

    def again(self):
        submissions, self.lost_on_the_way = self.lost_on_the_way, []
        self.counts["retriedWithKey"] += sum(submission.is_retry for submission in submissions)
        self.counts["submittedAgain"] += len(submissions)
        return submissions

    def begin(self):
        """A new process: it counts its lines from 1."""
        self.pending = {}
        self.awaited = set()
        self.heard_count = 0

    def note_fed(self, submissions, first):
        for index, submission in enumerate(submissions):
            self.pending[first + index] = submission

    # What forward reports.

    def hear(self, result):
        kind = result.get("result")
        if kind is None:
            if result["event"] in ("diverged", "newSource"):
                self.complain(f"forward reported {result}")
            return None
        self.heard_count += 1
        if kind == "queued":
            submission = self.pending.pop(result["line"], None)
            if submission is None:
                return self.complain(f"line {result['line']} was queued twice, or never fed")
            return self.hear_queued(submission, result)
        if kind not in ("delivered", "gone", "removed"):
            return self.complain(f"forward reported {result}")
        number = result["number"]
        notification = self.by_number.get(number)
        self.awaited.discard(number)
        if kind == "delivered":
            self.deliveries[number] = self.deliveries.get(number, 0) + 1
            # Once for each content, of which there are as many as versions; that of one that is not
            # known yet is its first.
            if self.deliveries[number] > (notification.version + 1 if notification else 1):
                self.counts["doubled"] += 1
                self.complain(f"{number} was reported delivered more often than it was changed")
            return None
        if number in self.ended:
            self.counts["doubled"] += 1
            self.complain(f"{number} was reported {kind}, and {self.ended[number]} before")
        self.ended[number] = kind
        expected = ("dismissed", "perhaps") if kind == "gone" else ("removed",)
        if notification and notification.state not in expected:
            self.complain(
                f"{notification.title(notification.version)} was reported {kind}, and is {notification.state}"
            )
        return None

    def hear_queued(self, submission, result):
        number, title = result["number"], submission.notification.title(submission.version)
        if result.get("keyConflict"):
            self.complain(f"{title} has a key with other content")
        if not result.get("duplicate"):
            if submission.kind == "again":
                self.counts["doubled"] += 1
                self.complain(f"{title} was accepted a second time, with the number {number}")
            self.confirm(submission, number)
            return
        self.counts["duplicates"] += 1
        if not submission.is_retry:
            self.complain(f"{title} was never submitted before, and is a duplicate of {number}")
        if submission.notification.number not in (None, number):
            self.complain(f"{title} has the numbers {submission.notification.number} and {number}")
        if submission.kind == "add":
            self.confirm(submission, number)
            # It can be delivered already.
            self.awaited.discard(number)

    def confirm(self, submission, number):
        notification = submission.notification
        if notification.number not in (None, number):
            self.complain(
                f"{notification.title(submission.version)} has the numbers {notification.number} and {number}"
            )
        notification.number = number
        notification.is_busy = False
        self.by_number[number] = notification
        self.awaited.add(number)
        if submission.kind == "remove":
            notification.state = "removed"

    def is_all_delivered(self):
        return not self.pending and not self.awaited

    def settle(self, rows):
        """After a death: what was fed and not confirmed is in the journal, or is to be fed
        again."""
        by_serial = {row["title"].split(".")[0]: row for row in rows.values()}
        for _, submission in sorted(self.pending.items()):
            notification = submission.notification
            if submission.kind == "again":
                continue
            if submission.kind == "add" and notification.key:
                # Its client does not look: it submits it again.
                submission.is_retry = True
                self.lost_on_the_way.append(submission)
                continue
            row = by_serial.get(f"{notification.serial:06d}")
            if submission.kind == "remove":
                is_taken = row is None or row["state"] == "removing"
            else:
                is_taken = row is not None and row["title"] == notification.title(submission.version)
            if is_taken:
                self.confirm(submission, row["number"] if row else notification.number)
            else:
                self.lost_on_the_way.append(submission)
        self.pending = {}

    # The display.

    def dismissible(self, content):
        serial = int(content["title"].split(".")[0])
        found = self.notifications[serial]
        return found if found.state == "live" and not found.is_busy and found.number else None

    def note_dismissal(self, notification):
        notification.state = "dismissed"
        self.counts["dismissals"] += 1

    def note_reboot(self, known_numbers):
        for notification in self.notifications:
            if notification.state == "dismissed" and notification.number in known_numbers:
                notification.state = "perhaps"

    def compare(self, items, rows, statistics):
        """At the end: the display, the journal and what was submitted must be one."""
        shown = {}
        for item in items:
            title = json.loads(item["json"])["title"]
            serial = int(title.split(".")[0])
            notification = self.notifications[serial]
            if serial in shown:
                self.counts["doubled"] += 1
                self.complain(f"{title} is on the display twice")
            shown[serial] = title
            if notification.state in ("removed", "dismissed"):
                self.complain(f"{title} is on the display, and was {notification.state}")
            elif title != notification.title(notification.version):
                self.complain(f"{title} is on the display, and its newest version is {notification.version}")
        for notification in self.notifications:
            if notification.state == "live" and notification.serial not in shown:
                self.counts["lost"] += 1
                self.complain(f"{notification.title(notification.version)} is not on the display")
        held = sorted(row["title"] for row in rows if row["state"] == "held")
        if held != sorted(shown.values()) or len(held) != len(rows):
            self.complain(
                f"the journal has {len(rows)} notifications, {len(held)} of them on the display, which has {len(shown)}"
            )
        if statistics["states"]["held"] != len(items) or statistics["notifications"] != len(items):
            self.complain(f"outbox stats says {statistics['states']}, and {len(items)} are on the display")
        if {item["src"] for item in items} - {statistics["source"]}:
            self.complain("the display has notifications of another source")
        self.counts["shownAtTheEnd"] = len(items)

    def report(self):
        return {**self.counts, "findings": self.findings}
