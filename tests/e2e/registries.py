"""Registries on loopback (Debian's docker-registry) and the images that tests push there, made by hand."""
import base64
import dataclasses
import gzip
import hashlib
import http.client
import http.server
import io
import json
import os
import shutil
import socket
import ssl
import subprocess
import tarfile
import threading
import time
import urllib.parse
import warnings

import pytest
import yaml

from harness import eventually

BUSYBOX = "/bin/busybox"  # of busybox-static: an image needs no libraries
TOOLS = ("sh", "cat", "echo", "ls", "id", "env", "sleep", "true", "test", "pwd", "mkdir", "touch", "nc", "seq")
GZIP_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def need(*programs):
    missing = [program for program in programs if not shutil.which(program) and not os.path.exists(program)]
    if missing:
        pytest.skip(f"MISSING {', '.join(missing)}: run `tools/setup test`")


def digest_of(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def tar_of(entries):
    """entries: path -> bytes, or (bytes, mode), or {"link": target}, {"hard": target}, {"device": (major, minor)},
    {"folder": mode}. What is bytes already is a tar."""
    if isinstance(entries, bytes):
        return entries
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in entries.items():
            entry = tarfile.TarInfo(path)
            entry.mtime = 1_700_000_000
            if isinstance(content, dict) and "link" in content:
                entry.type, entry.linkname = tarfile.SYMTYPE, content["link"]
                archive.addfile(entry)
            elif isinstance(content, dict) and "hard" in content:
                entry.type, entry.linkname = tarfile.LNKTYPE, content["hard"]
                archive.addfile(entry)
            elif isinstance(content, dict) and "device" in content:
                entry.type, entry.mode, (entry.devmajor, entry.devminor) = tarfile.BLKTYPE, 0o666, content["device"]
                archive.addfile(entry)
            elif isinstance(content, dict):
                entry.type, entry.mode = tarfile.DIRTYPE, content["folder"]
                archive.addfile(entry)
            else:
                content, entry.mode = content if isinstance(content, tuple) else (content, 0o644)
                content = content.encode() if isinstance(content, str) else content
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def busybox_layer():
    with open(BUSYBOX, "rb") as stream:
        program = stream.read()
    return {"bin": {"folder": 0o755}, "bin/busybox": (program, 0o755),
            **{f"bin/{tool}": {"link": "busybox"} for tool in TOOLS},
            "etc": {"folder": 0o755}, "etc/passwd": "root:x:0:0::/root:/bin/sh\nworker:x:1234:2345::/home:/bin/sh\n",
            "etc/group": "root:x:0:\nworkers:x:2345:\n", "tmp": {"folder": 0o1777}}


@dataclasses.dataclass
class Image:
    manifest: bytes
    blobs: dict  # digest -> content

    @property
    def digest(self):
        return digest_of(self.manifest)


def image_of(*layers, **config):
    """An OCI image of these layers (as tar_of takes them); config: Env, Entrypoint, Cmd, User and so on."""
    tars = [tar_of(layer) for layer in layers]
    packed = [gzip.compress(tar, compresslevel=1, mtime=0) for tar in tars]
    descriptors = [{"mediaType": GZIP_LAYER, "digest": digest_of(layer), "size": len(layer)} for layer in packed]
    image = assembled(descriptors, [digest_of(tar) for tar in tars], **config)
    image.blobs.update({digest_of(content): content for content in packed})
    return image


def assembled(layers, diff_ids, **config):
    """The image of layers that are pushed already, or will be."""
    described = json.dumps({
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine), "os": "linux",
        "config": config, "rootfs": {"type": "layers", "diff_ids": diff_ids}}).encode()
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest_of(described),
                   "size": len(described)},
        "layers": layers}).encode()
    return Image(manifest, {digest_of(described): described})


def busybox_image(files=None, **config):
    return image_of(busybox_layer(), files or {}, **{"Env": ["PATH=/bin"], **config})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_authority(folder):
    """A CA and a certificate for 127.0.0.1 it signed: (ca, certificate, key), paths."""
    ca, certificate, key = (os.path.join(folder, name) for name in ("ca.pem", "server.pem", "server.key"))
    ca_key, request, names = (os.path.join(folder, name) for name in ("ca.key", "server.csr", "names"))
    with open(names, "w", encoding="utf-8") as stream:
        stream.write("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for command in (
            ["req", "-x509", *new_key, "-keyout", ca_key, "-out", ca, "-days", "2", "-subj", "/CN=test authority"],
            ["req", *new_key, "-keyout", key, "-out", request, "-subj", "/CN=127.0.0.1"],
            ["x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-out", certificate,
             "-days", "2", "-extfile", names]):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    return ca, certificate, key


def htpasswd_line(user, password):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import crypt  # pylint: disable=import-outside-toplevel,deprecated-module
    return f"{user}:{crypt.crypt(password, crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))}\n"


def configure(yard, *registries, entries=None, **images):
    """config.yaml of a server that may ask these registries; `entries` say more of one, `images` is the rest of the section."""
    os.makedirs(yard.state, mode=0o700, exist_ok=True)
    named = {registry.name: registry.config_entry() for registry in registries}
    for name, entry in (entries or {}).items():
        named.setdefault(name, {}).update(entry)
    with open(os.path.join(yard.state, "config.yaml"), "w", encoding="utf-8") as stream:
        yaml.safe_dump({"images": {"registries": named, **images}}, stream)
    yard.give(yard.state)


def up_with(yard, *registries, **more):
    configure(yard, *registries, **more)
    yard.up()


def secret_of(registry, name, user=None, password=None):
    """A Secret for imagePullSecrets."""
    return {"metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": base64.b64encode(registry.docker_config(user, password).encode()).decode()}}


class TokenServer:
    """Gives out tokens as docker-registry checks them: JWTs whose key a certificate of its bundle vouches for."""

    def __init__(self, folder, users):
        self.users, self.asked = users, []
        self.bundle, self.key = os.path.join(folder, "tokens.pem"), os.path.join(folder, "tokens.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.key, "-out", self.bundle,
                        "-days", "2", "-subj", "/CN=tokens"], check=True, capture_output=True)
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.answer(self)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.realm = f"http://127.0.0.1:{self.server.server_port}/token"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request):
        self.asked.append(request.path)
        header = request.headers.get("Authorization", "")
        user, _, password = base64.b64decode(header[6:]).decode().partition(":") if header.startswith("Basic ") else ("",) * 3
        if self.users.get(user) != password or not user:
            body, status = json.dumps({"details": "incorrect username or password"}), 401
        else:
            query = urllib.parse.parse_qs(urllib.parse.urlparse(request.path).query)
            body, status = json.dumps({"token": self.token(query.get("scope", [])), "expires_in": 300}), 200
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.end_headers()
        request.wfile.write(body.encode())

    def token(self, scopes):
        def packed(content):
            return base64.urlsafe_b64encode(content).rstrip(b"=")
        with open(self.bundle, encoding="ascii") as stream:
            certificate = "".join(line.strip() for line in stream if "-----" not in line)
        now = int(time.time())
        access = [{"type": kind, "name": name, "actions": actions.split(",")}
                  for kind, name, actions in (scope.split(":", 2) for scope in scopes)]
        signed = packed(json.dumps({"typ": "JWT", "alg": "RS256", "x5c": [certificate]}).encode()) + b"." + packed(
            json.dumps({"iss": "tests", "aud": "registry", "sub": "", "exp": now + 300, "nbf": now - 60, "iat": now,
                        "jti": str(len(self.asked)), "access": access}).encode())
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=signed, check=True,
                                   capture_output=True).stdout
        return (signed + b"." + packed(signature)).decode()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class PlayedRegistry:
    """A registry that says what a test wants: `answers` maps `repository` to what its manifests and blobs are answered with,
    an Image, or a status with headers and a body."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []
        self.held = {}  # blob -> (how much of it is sent, the event after which the rest is)
        played = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                played.answer(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # whoever is refused a layer hangs up
        self.name = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def config_entry(self):
        return {"plainHttp": True}

    def answer(self, request):
        self.asked.append(f"{request.command} {request.path}")
        parts = request.path.split("/")  # /v2/<repository>/manifests/<tag>
        status, headers, body = self.said(parts[2], parts[3], parts[-1]) if len(parts) == 5 else (200, {}, b"")
        told = headers.pop("Content-Length", len(body))
        request.send_response(status)
        for name, value in {**headers, "Content-Length": told}.items():
            request.send_header(name, str(value))
        request.end_headers()
        if request.command == "GET":
            first, opened = self.held.get(parts[-1], (0, None))
            request.wfile.write(body[:first])
            request.wfile.flush()
            if opened:
                opened.wait(60)
            request.wfile.write(body[first:])
        if told != len(body):
            request.close_connection = True  # cut off

    def said(self, repository, sort, version):
        answer = self.answers.get(repository, (404, {}, b""))
        if isinstance(answer, tuple):
            status, headers, body = answer
            return status, dict(headers), body
        if sort == "manifests":
            return 200, {"Content-Type": json.loads(answer.manifest).get("mediaType", MANIFEST),
                         "Docker-Content-Digest": answer.digest}, answer.manifest
        content = answer.blobs.get(version, b"")
        size = next((layer["size"] for layer in json.loads(answer.manifest)["layers"] if layer["digest"] == version), len(content))
        return 200, {"Content-Length": size} if len(content) < size else {}, content

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class DockerRegistry:
    """A docker-registry of one test: plain, or with `tls`; open, or with `users` (basic), or with `tokens`."""

    def __init__(self, folder, tls=False, users=None, tokens=False):
        need("docker-registry", "openssl", BUSYBOX)
        self.folder = os.path.join(folder, f"registry-{free_port()}")
        os.makedirs(self.folder)
        self.name = f"127.0.0.1:{free_port()}"
        self.users, self.tls, self.ca, self.token_server = users or {}, tls, None, None
        config = {"version": "0.1", "log": {"level": "error"}, "http": {"addr": self.name},
                  "storage": {"filesystem": {"rootdirectory": os.path.join(self.folder, "data")},
                              "delete": {"enabled": True}}}
        if tls:
            self.ca, certificate, key = make_authority(self.folder)
            config["http"]["tls"] = {"certificate": certificate, "key": key}
        if tokens:
            self.token_server = TokenServer(self.folder, self.users)
            config["auth"] = {"token": {"realm": self.token_server.realm, "service": "registry", "issuer": "tests",
                                        "rootcertbundle": self.token_server.bundle}}
        elif users:
            with open(os.path.join(self.folder, "htpasswd"), "w", encoding="utf-8") as stream:
                stream.writelines(htpasswd_line(*user) for user in users.items())
            config["auth"] = {"htpasswd": {"realm": "tests", "path": stream.name}}
        self.config = os.path.join(self.folder, "config.yml")
        with open(self.config, "w", encoding="utf-8") as stream:
            yaml.safe_dump(config, stream)
        self.process = None
        self.start()

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(["docker-registry", "serve", self.config], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)
        eventually(lambda: self.request("GET", "/v2/")[0] in (200, 401), about="docker-registry answers")

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def close(self):
        self.stop()
        if self.token_server:
            self.token_server.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def request(self, method, target, body=None, headers=None):
        if self.tls:
            connection = http.client.HTTPSConnection(self.name, timeout=20, context=ssl.create_default_context(cafile=self.ca))
        else:
            connection = http.client.HTTPConnection(self.name, timeout=20)
        try:
            connection.request(method, target, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def _login(self, repository):
        if self.token_server:
            return {"Authorization": "Bearer " + self.token_server.token([f"repository:{repository}:pull,push"])}
        if self.users:
            user, password = next(iter(self.users.items()))
            return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}
        return {}

    def push(self, repository, tag, image):
        """The name under which it can be pulled."""
        self.push_blobs(repository, image.blobs)
        self.put_manifest(repository, tag, image.manifest, MANIFEST)
        return f"{self.name}/{repository}:{tag}"

    def push_blobs(self, repository, blobs):
        login = self._login(repository)
        for digest, content in blobs.items():
            status, headers, text = self.request("POST", f"/v2/{repository}/blobs/uploads/", b"", login)
            assert status == 202, text
            place = urllib.parse.urlparse(headers["Location"])
            status, _, text = self.request("PUT", f"{place.path}?{place.query}&digest={urllib.parse.quote(digest)}", content,
                                           {**login, "Content-Type": "application/octet-stream"})
            assert status == 201, text

    def put_manifest(self, repository, tag, manifest, media_type):
        status, _, text = self.request("PUT", f"/v2/{repository}/manifests/{tag}", manifest,
                                       {**self._login(repository), "Content-Type": media_type})
        assert status == 201, text

    def config_entry(self):
        """What images.registries of the config has to say about it."""
        return {"ca": self.ca} if self.tls else {"plainHttp": True}

    def docker_config(self, user=None, password=None):
        if user is None:
            user, password = next(iter(self.users.items()))
        return json.dumps({"auths": {self.name: {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}}})
