/// The program that holds the places of labgrid for one command of `notibot`, in the Python of
/// `labgrid-client`.
///
/// It imports labgrid once, in half a second, and forks for each use of its command line, whose
/// words and output are the interface. It prints the path of a socket, and ends with its standard
/// input. A connection sends one line of JSON: `list` with tags, or `place`, `wait` in seconds and
/// `tags`, nil for a name. A place is held until its connection ends; meanwhile further lines with
/// `run` are words for `labgrid-client -p PLACE`. All answers have an array, a text or null in
/// `places`, `shown`, `forward`, `errors`, `released`.
enum LabgridScript {
  static let text = #"""
    import atexit, contextlib, json, os, re, select, shutil, signal, socket, sys, tempfile, time

    # Without a terminal, ssh cannot ask; a signal to the group ends only the user of a place. The
    # leader of a group cannot do this.
    if os.fork():
        os._exit(0)
    os.setsid()
    # notibot blocks them.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        from labgrid.remote.client import main
    except ImportError:
        main = None

    STEP, SLOTS = 30, 4
    FREE = ("already acquired", "was not reserved for")


    def start(words, limit):
        """labgrid-client in a process: its id, output and errors."""
        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        pid = os.fork()
        if pid:
            return pid, out, err
        code = 2
        try:
            for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGALRM):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.alarm(int(limit))
            for number, end in enumerate((os.open(os.devnull, os.O_RDONLY), out.fileno(), err.fileno())):
                os.dup2(end, number)
            sys.argv = ["labgrid-client", *words]
            if main is None:
                os.execvp(sys.argv[0], sys.argv)
            code = main() or 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException as error:
            print(f"Error: {error}", file=sys.stderr)
        finally:
            # A process that was forked does not end labgrid's connections of ssh otherwise.
            with contextlib.suppress(BaseException):
                atexit._run_exitfuncs()
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(code)


    def text_of(*files):
        for file in files:
            file.seek(0)
        return [file.read().decode(errors="replace") for file in files]


    class Failed(Exception):
        """A command failed, or the user of the place left."""


    class Late(Failed):
        """A command did not end."""


    def run(*words, limit=STEP):
        pid, out, err = start(words, limit)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        said, errors = text_of(out, err)
        if status == -signal.SIGALRM:
            raise Late(f"no answer within {limit} s")
        if status:
            raise Failed(errors or said)
        return said


    def places(tags):
        found, name = {}, None
        for line in run("-v", "places").splitlines():
            if match := re.match(r"Place '(.*)':$", line):
                name = found.setdefault(match[1], {})
            elif name is not None and (match := re.match(r"\s+tags: (.*)$", line)):
                name.update(word.partition("=")[::2] for word in match[1].split(", "))
        return sorted(place for place, own in found.items() if tags.items() <= own.items())


    class Place:
        """A place that is held as long as the other end of a connection stays."""

        def __init__(self, connection, request):
            self.connection, self.request = connection, request
            self.name, self.file, self.export = None, None, None

        def left(self, seconds, *others):
            """Waits for one of the others. Raises Failed when the client has left."""
            ready = select.select([self.connection, *others], [], [], seconds)[0]
            if self.connection in ready:
                raise Failed("interrupted")
            return ready

        def acquire(self, pattern):
            self.left(None, slots[0])
            os.read(slots[0], 1)
            try:
                said = run("-p", pattern, "acquire")
            except Late:
                # The coordinator can still do it.
                self.name = pattern
                raise
            finally:
                os.write(slots[1], b".")
            self.name = re.search(r"^acquired place (.*)$", said, re.M)[1]

        def reserve(self, filters):
            """Acquires the place that a reservation gets within the time that may be waited."""
            token = re.search(r"LG_TOKEN=(\w+)", run("reserve", "--shell", *filters))[1]
            try:
                pid, out, err = start(["wait", token], max(2, self.request["wait"]))
                end = os.pidfd_open(pid)
                try:
                    self.left(None, end)
                finally:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    os.close(end)
                if "state: allocated" not in text_of(out)[0]:
                    raise Failed(f"{self.request['place']} is already acquired, or reserved by others")
                self.acquire(f"+{token}")
            finally:
                run("cancel-reservation", token)

        def take(self):
            place, tags = self.request["place"], self.request.get("tags")
            if tags is not None:
                if not places(tags):
                    raise Failed("no place matches nothing")
                self.reserve(f"{key}={value}" for key, value in tags.items())
            else:
                try:
                    self.acquire(place)
                except Failed as problem:
                    if not self.request["wait"] or not any(word in str(problem) for word in FREE):
                        raise
                    self.reserve([f"name={place}"])
            shown = self.show()
            # A pattern of labgrid matches a part of a name.
            names = re.findall(r"^\s*aliases: (.*)$", shown, re.M)
            if tags is None and place != self.name and place not in ", ".join(names).split(", "):
                raise Failed(f"place pattern {place} matches nothing but a part of {self.name}")
            return shown

        def show(self):
            """With a port, as soon as the exporter has started its server."""
            end = time.monotonic() + 20
            while "'port': None" in (shown := run("-p", self.name, "show")) and time.monotonic() < end:
                self.left(1)
            return shown

        def forward(self):
            """The address at this end of labgrid's tunnel, which lives as long as the command."""
            self.file = tempfile.NamedTemporaryFile("w", suffix=".yaml")
            target = {"resources": {"RemotePlace": {"name": self.name}}, "drivers": {"SerialDriver": {}}}
            print(json.dumps({"targets": {"main": target}}), file=self.file, flush=True)
            self.export = start(["-c", self.file.name, "export", "--format", "json", "-"], 0)
            pid, out, err = self.export
            end, limit = os.pidfd_open(pid), time.monotonic() + 2 * STEP
            try:
                while time.monotonic() < limit:
                    ended = self.left(0.2, end)
                    said, errors = text_of(out, err)
                    if match := re.search(r"^\{.*\}$", said, re.M):
                        return json.loads(match[0])
                    if ended:
                        break
            finally:
                os.close(end)
            raise Failed(f"the proxy: {errors}")

        def give_back(self):
            """Returns what went wrong."""
            try:
                if self.export:
                    pid = self.export[0]
                    end = os.pidfd_open(pid)
                    os.kill(pid, signal.SIGINT)
                    if not select.select([end], [], [], STEP)[0]:
                        os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    os.close(end)
                if self.name:
                    run("-p", self.name, "release")
            except Failed as problem:
                return str(problem)


    def serve(connection):
        lines = connection.makefile("rw", encoding="utf-8")

        def answer(**document):
            try:
                print(json.dumps(document), file=lines, flush=True)
            except OSError:
                pass

        request = json.loads(lines.readline() or "null")
        if request is None:
            return
        if "list" in request:
            try:
                return answer(places=places(request["list"]))
            except Failed as problem:
                return answer(errors=str(problem))
        place = Place(connection, request)
        try:
            shown = place.take()
            isProxied = "LG_PROXY" in os.environ or "'proxy_required': True" in shown
            answer(place=place.name, shown=shown, forward=place.forward() if isProxied else None)
            for line in lines:
                try:
                    run("-p", place.name, *json.loads(line)["run"], limit=2 * STEP)
                    answer(shown=place.show())
                except Failed as problem:
                    answer(errors=str(problem))
        except Failed as problem:
            answer(errors=str(problem))
        finally:
            answer(released=place.give_back() or "")


    # Of the caller's shell: they would choose another place.
    for name in ("LG_ENV", "LG_PLACE", "LG_TOKEN", "LG_STATE", "LG_INITIAL_STATE"):
        os.environ.pop(name, None)
    os.environ["SSH_ASKPASS_REQUIRE"] = "never"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    slots = os.pipe()
    os.write(slots[1], b"." * SLOTS)
    folder = tempfile.mkdtemp(prefix="notibot-labgrid-")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(folder + "/socket")
    listener.listen(512)
    print(folder + "/socket", flush=True)
    while True:
        ready = select.select([listener, 0], [], [])[0]
        if listener in ready:
            connection = listener.accept()[0]
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listener.close()
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                try:
                    serve(connection)
                finally:
                    os._exit(0)
            connection.close()
        elif not os.read(0, 1):
            break
    shutil.rmtree(folder)
    """#
}
