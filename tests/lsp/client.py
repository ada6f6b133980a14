"""A client of `pipec lsp` for the tests: Client(PIPEC) starts it; messages are Python values."""
import json
import queue
import subprocess
import threading
import time


class Client:
    def __init__(self, pipec, *arguments, environment=None):
        self.process = subprocess.Popen([pipec, "lsp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment)
        self.messages = queue.Queue()
        self.kept = []
        self.number = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        stream = self.process.stdout
        while True:
            length = None
            while True:
                line = stream.readline()
                if not line:
                    self.messages.put(None)
                    return
                if line.strip() == b"":
                    break
                name, value = line.split(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            self.messages.put(json.loads(stream.read(length)))

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def wait(self, wanted, seconds=30):
        """The first message, also of those kept, for which wanted(message) is true."""
        for i, message in enumerate(self.kept):
            if wanted(message):
                return self.kept.pop(i)
        end = time.monotonic() + seconds
        while True:
            message = self.messages.get(timeout=max(end - time.monotonic(), 0.001))
            if message is None:
                raise EOFError("the server has ended")
            if wanted(message):
                return message
            self.kept.append(message)

    def request(self, method, params=None, seconds=30):
        """The answer: a message with `result` or `error`."""
        self.number += 1
        number = self.number
        self.send({"id": number, "method": method, **({} if params is None else {"params": params})})
        return self.wait(lambda m: m.get("id") == number and "method" not in m, seconds)

    def result(self, method, params=None):
        answer = self.request(method, params)
        assert "result" in answer, f"{method}: {answer}"
        return answer["result"]

    def notify(self, method, params=None):
        self.send({"method": method, "params": params or {}})

    def start(self, **options):
        result = self.result("initialize", {"processId": None, "rootUri": None, "capabilities": {}, **options})
        self.notify("initialized")
        return result

    def open(self, uri, text):
        self.notify("textDocument/didOpen",
                    {"textDocument": {"uri": uri, "languageId": "pipe", "version": 1, "text": text}})

    def change(self, uri, version, changes):
        self.notify("textDocument/didChange",
                    {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes})

    def diagnostics(self, uri, version=None, seconds=30):
        def wanted(m):
            return (m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri
                    and (version is None or m["params"].get("version") == version))
        return self.wait(wanted, seconds)["params"]["diagnostics"]

    def end(self):
        self.request("shutdown")
        self.notify("exit")
        return self.process.wait(timeout=30)
