"""Who may do what: tokens, roles, reviews, impersonation and users, with the real kubectl."""
import base64
import json
import os
import stat
import time

import pytest
import yaml

from harness import Api, eventually

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def account(yard, namespace, name="robot"):
    return yard.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}})


def allow(yard, namespace, name, rules, subjects):
    yard.create(f"{RBAC}/namespaces/{namespace}/roles", {"metadata": {"name": name}, "rules": rules})
    yard.create(f"{RBAC}/namespaces/{namespace}/rolebindings",
                {"metadata": {"name": name}, "roleRef": {"kind": "Role", "name": name}, "subjects": subjects})


def new_token(yard, namespace, name="robot", **spec):
    answer = yard.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", {"spec": spec})
    assert answer.status == 201, answer.text
    return answer.json["status"]["token"]


def with_token(yard, token, path, method="GET"):
    api = Api(yard.kubeconfig, yard.folder, credentials=False)
    try:
        return api.request(method, path, headers={"Authorization": f"Bearer {token}"})
    finally:
        api.close()


def read_pods(namespace):
    return {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}, \
        {"kind": "ServiceAccount", "name": "robot", "namespace": namespace}


def decoded(part):
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def encoded(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=").decode()


def signed(yard, header, claims):
    """A token of the server's own key, with any claims: how expiry is tested without waiting for it."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, utils
    with open(os.path.join(yard.state, "service-accounts.key"), "rb") as stream:
        key = serialization.load_pem_private_key(stream.read(), None)
    text = f"{encoded(header)}.{encoded(claims)}"
    r, s = utils.decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def test_a_token_is_its_service_account(yard, namespace):
    account(yard, namespace)
    rule, subject = read_pods(namespace)
    allow(yard, namespace, "read", [rule], [subject])
    token = new_token(yard, namespace)
    assert with_token(yard, token, f"/api/v1/namespaces/{namespace}/pods").status == 200
    answer = with_token(yard, token, f"/api/v1/namespaces/{namespace}/secrets")
    assert answer.status == 403
    assert answer.json["message"] == (
        f'secrets is forbidden: User "system:serviceaccount:{namespace}:robot" cannot list resource "secrets" '
        f'in API group "" in the namespace "{namespace}"')
    claims = decoded(token.split(".")[1])
    assert claims["sub"] == f"system:serviceaccount:{namespace}:robot" and claims["exp"] - claims["iat"] == 3600
    assert set(claims) == {"aud", "exp", "iat", "iss", "jti", "kubernetes.io", "nbf", "sub"}


def test_a_token_outlives_neither_its_time_nor_its_account(yard, namespace):
    if not yard.is_ours:
        pytest.skip("needs the key of our server")
    account(yard, namespace)
    rule, subject = read_pods(namespace)
    allow(yard, namespace, "read", [rule], [subject])
    path = f"/api/v1/namespaces/{namespace}/pods"
    token = new_token(yard, namespace)
    header, claims = (decoded(part) for part in token.split(".")[:2])
    now = int(time.time())
    assert with_token(yard, signed(yard, header, {**claims, "exp": now + 100}), path).status == 200
    assert with_token(yard, signed(yard, header, {**claims, "exp": now - 1}), path).status == 401
    assert with_token(yard, signed(yard, header, {**claims, "nbf": now + 100}), path).status == 401
    assert with_token(yard, signed(yard, header, {**claims, "aud": ["vault"]}), path).status == 401
    assert with_token(yard, signed(yard, {**header, "alg": "none"}, claims), path).status == 401
    assert yard.request("DELETE", f"/api/v1/namespaces/{namespace}/serviceaccounts/robot").status == 200
    assert with_token(yard, token, path).status == 401
    account(yard, namespace)
    assert with_token(yard, token, path).status == 401


def test_tokens_stay_good_over_a_restart_and_out_of_the_log(own_yard):
    own_yard.up()
    account(own_yard, "default")
    rule, subject = read_pods("default")
    allow(own_yard, "default", "read", [rule], [subject])
    token = new_token(own_yard, "default")
    key = os.path.join(own_yard.state, "service-accounts.key")
    assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
    own_yard.down()
    own_yard.up()
    assert with_token(own_yard, token, "/api/v1/namespaces/default/pods").status == 200
    assert with_token(own_yard, token[:-4] + "AAAA", "/api/v1/namespaces/default/pods").status == 401
    with open(os.path.join(own_yard.state, "server.log"), encoding="utf-8") as stream:
        log = stream.read()
    assert token.split(".")[1] not in log and token.split(".")[2] not in log
    own_yard.down()


def test_a_pod_reads_itself_with_its_token(yard, kubectl, namespace):
    if not yard.is_ours:
        pytest.skip("needs a node")
    allow(yard, namespace, "self", [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
          [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}])
    program = """
import json, os, ssl, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
read = lambda name: open(folder + name).read()
host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
url = f"https://{host}:{port}/api/v1/namespaces/{read('namespace')}/pods/{os.environ['HOSTNAME']}"
request = urllib.request.Request(url, headers={"Authorization": "Bearer " + read("token")})
context = ssl.create_default_context(cafile=folder + "ca.crt")
print(json.load(urllib.request.urlopen(request, context=context))["metadata"]["name"])
"""
    kubectl("apply", "-f", "-", stdin={
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "self"},
        "spec": {"restartPolicy": "Never",
                 "containers": [{"name": "c", "image": "python", "command": ["/usr/bin/python3", "-c", program]}]}})
    eventually(lambda: kubectl.json("get", "pod", "self")["status"]["phase"] in ("Succeeded", "Failed"), about="self ends")
    assert kubectl("logs", "self").out == "self\n"


def test_a_secret_gets_a_token(yard, namespace):
    account(yard, namespace)
    rule, subject = read_pods(namespace)
    allow(yard, namespace, "read", [rule], [subject])
    path = f"/api/v1/namespaces/{namespace}/secrets"
    yard.create(path, {"metadata": {"name": "robot-token", "annotations": {"kubernetes.io/service-account.name": "robot"}},
                       "type": "kubernetes.io/service-account-token"})
    secret = eventually(lambda: (lambda s: s if "token" in s.get("data", {}) else None)(
        yard.request("GET", path + "/robot-token").json))
    token = base64.b64decode(secret["data"]["token"]).decode()
    assert with_token(yard, token, f"/api/v1/namespaces/{namespace}/pods").status == 200
    assert base64.b64decode(secret["data"]["namespace"]).decode() == namespace
    yard.request("DELETE", f"/api/v1/namespaces/{namespace}/serviceaccounts/robot")
    eventually(lambda: yard.request("GET", path + "/robot-token").status == 404)
    assert with_token(yard, token, f"/api/v1/namespaces/{namespace}/pods").status == 401


def test_impersonation_shows_what_another_may_do(kubectl, namespace):
    assert kubectl("--as", "bob", "get", "pods", expect=1).err == (
        'Error from server (Forbidden): pods is forbidden: User "bob" cannot list resource "pods" in API group "" '
        f'in the namespace "{namespace}"\n')
    assert kubectl("--as", "bob", "get", "nodes", "n", expect=1).err == (
        'Error from server (Forbidden): nodes "n" is forbidden: User "bob" cannot get resource "nodes" in API group "" '
        'at the cluster scope\n')
    assert kubectl("--as", "bob", "get", "--raw", "/metrics", expect=1).err == \
        'Error from server (Forbidden): forbidden: User "bob" cannot get path "/metrics"\n'
    assert kubectl("--as", "bob", "auth", "can-i", "create", "pods", expect=1).out == "no\n"
    kubectl("create", "rolebinding", "bob", "--clusterrole", "edit", "--user", "bob")
    assert kubectl("--as", "bob", "auth", "can-i", "create", "pods").out == "yes\n"
    kubectl("--as", "bob", "get", "pods")
    assert kubectl("--as", "bob", "auth", "can-i", "create", "roles", expect=1).out == "no\n"
    assert kubectl("auth", "can-i", "*", "*").out == "yes\n"
    listed = kubectl("--as", "bob", "auth", "can-i", "--list").out
    assert "selfsubjectaccessreviews.authorization.k8s.io" in listed and "pods/exec" in listed


def test_nobody_grants_more_than_they_have(kubectl, namespace):
    kubectl("create", "rolebinding", "bob", "--clusterrole", "admin", "--user", "bob")
    kubectl("create", "clusterrole", f"all-{namespace}", "--verb", "*", "--resource", "*.*")
    kubectl("--as", "bob", "create", "role", "fine", "--verb", "get", "--resource", "pods")
    refused = kubectl("--as", "bob", "create", "role", "more", "--verb", "get,list", "--resource", "nodes", expect=1)
    assert refused.err.endswith(
        'roles.rbac.authorization.k8s.io "more" is forbidden: user "bob" (groups=["system:authenticated"]) is attempting '
        'to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list"]}\n')
    refused = kubectl("--as", "bob", "create", "rolebinding", "more", "--clusterrole", f"all-{namespace}", "--user", "bob", expect=1)
    assert "is attempting to grant RBAC permissions not currently held" in refused.err
    kubectl("delete", "clusterrole", f"all-{namespace}")


def test_whoami(kubectl):
    kubectl.needs(27)
    assert kubectl("auth", "whoami", "--as", "bob", "--as-group", "g1").out.splitlines()[1:] == \
        ["Username    bob", "Groups      [g1 system:authenticated]"]


def test_reconcile(kubectl, namespace):
    manifest = [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r", "namespace": namespace},
                 "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]},
                {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                 "metadata": {"name": "r", "namespace": namespace},
                 "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
                 "subjects": [{"kind": "User", "name": "bob", "apiGroup": "rbac.authorization.k8s.io"}]}]
    kubectl("auth", "reconcile", "-f", "-", stdin=manifest)
    manifest[0]["rules"][0]["verbs"] = ["get", "list"]
    kubectl("auth", "reconcile", "-f", "-", stdin=manifest)
    assert kubectl("--as", "bob", "auth", "can-i", "list", "pods").out == "yes\n"


def test_roles_are_joined(kubectl, namespace):
    label = f"into-{namespace}"
    kubectl("apply", "-f", "-", stdin={
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": f"sum-{namespace}"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {label: "yes"}}]}, "rules": []})
    kubectl("create", "clusterrole", f"part-{namespace}", "--verb", "get", "--resource", "pods")
    kubectl("label", "clusterrole", f"part-{namespace}", f"{label}=yes")
    eventually(lambda: kubectl.json("get", "clusterrole", f"sum-{namespace}")["rules"] ==
               [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])
    kubectl("delete", "clusterrole", f"part-{namespace}")
    eventually(lambda: not kubectl.json("get", "clusterrole", f"sum-{namespace}").get("rules"))
    kubectl("delete", "clusterrole", f"sum-{namespace}")


def test_role_mistakes(kubectl):
    bad = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "bad"},
           "rules": [{"verbs": [], "apiGroups": [""], "resources": ["pods"]}, {"verbs": ["get"]},
                     {"verbs": ["get"], "nonResourceURLs": ["/x"]}]}
    assert kubectl("create", "-f", "-", stdin=bad, expect=1).err.splitlines() == [
        'The Role "bad" is invalid: ',
        "* rules[0].verbs: Required value: verbs must contain at least one value",
        "* rules[1].apiGroups: Required value: resource rules must supply at least one api group",
        "* rules[1].resources: Required value: resource rules must supply at least one resource",
        '* rules[2].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs']
    kubectl("create", "rolebinding", "b", "--role", "r", "--user", "bob")
    assert kubectl("patch", "rolebinding", "b", "--type", "merge", "-p", '{"roleRef":{"name":"z"}}', expect=1).err == (
        'The RoleBinding "b" is invalid: roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role",'
        '"Name":"z"}: cannot change roleRef\n')
    assert kubectl("get", "rolebinding", "b", "-o", "wide").rows[1][:2] == ["b", "Role/r"]


def test_create_token(kubectl, yard, namespace):
    kubectl.needs(24)
    account(yard, namespace)
    token = kubectl("create", "token", "robot", "--duration", "20m").out.strip()
    claims = decoded(token.split(".")[1])
    assert claims["exp"] - claims["iat"] == 1200
    assert kubectl("create", "token", "robot", "--duration", "5m", expect=1).err == (
        'error: failed to create token: TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: '
        "Invalid value: 300: may not specify a duration less than 10 minutes\n")


def test_a_user_of_its_own(yard, kubectl, namespace, tmp_path):
    if not yard.is_ours:
        pytest.skip("needs our CA")
    path = tmp_path / "ann.kubeconfig"
    yard.command("user", "add", "ann", "--group", "team", "--out", str(path))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    refused = kubectl("get", "pods", kubeconfig=str(path), expect=1)
    assert f'User "ann" cannot list resource "pods" in API group "" in the namespace "{namespace}"' in refused.err
    kubectl("create", "rolebinding", "team", "--clusterrole", "view", "--group", "team")
    kubectl("get", "pods", kubeconfig=str(path))
    kubectl("get", "secrets", kubeconfig=str(path), expect=1)
    kubectl("create", "configmap", "x", kubeconfig=str(path), expect=1)
    printed = yaml.safe_load(yard.command("user", "add", "boss", "--group", "system:masters").out)
    assert printed["current-context"] == "boss@trainyard"
    other = tmp_path / "boss.kubeconfig"
    other.write_text(yaml.safe_dump(printed))
    kubectl("get", "nodes", kubeconfig=str(other))
    assert "are the cluster's own" in yard.command("user", "add", "system:x", expect=1).err


def test_issuer_documents_need_credentials(yard):
    if not yard.is_ours:
        pytest.skip("a rule of ours")
    api = Api(yard.kubeconfig, yard.folder, credentials=False)
    for path in ("/.well-known/openid-configuration", "/openid/v1/jwks", "/api", "/apis", "/openapi/v2", "/metrics"):
        assert api.request("GET", path).status == 401, path
    for path in ("/version", "/healthz", "/livez", "/readyz"):
        assert api.request("GET", path).status == 200, path
    api.close()
    document = yard.request("GET", "/.well-known/openid-configuration").json
    assert document["jwks_uri"].endswith("/openid/v1/jwks")
    # The keys are where the document was: the address in a pod is another than on the host.
    moved = yard.request("GET", "/.well-known/openid-configuration", headers={"Host": "kubernetes.default.svc"}).json
    assert moved["jwks_uri"] == "https://kubernetes.default.svc/openid/v1/jwks"
    (key,) = yard.request("GET", "/openid/v1/jwks").json["keys"]
    assert (key["kty"], key["alg"], key["crv"]) == ("EC", "ES256", "P-256")


def test_the_root_certificate_of_a_namespace_stays(yard, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt"
    eventually(lambda: yard.request("GET", path).status == 200)
    kept = yard.request("GET", path).json["data"]
    assert kept["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")
    changed = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": "", "more": "x"}}
    assert yard.request("PUT", path, changed).status == 200
    eventually(lambda: yard.request("GET", path).json["data"] == kept)
    assert yard.request("DELETE", path).status == 200
    eventually(lambda: yard.request("GET", path).status == 200)
    assert yard.request("GET", path).json["data"] == kept


INERT = [
    ("deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
    ("statefulsets", {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {
        "serviceName": "s", "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
    ("daemonsets", {"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
    ("poddisruptionbudgets", {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                              "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}),
    ("networkpolicies", {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
                         "spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}], "egress": [{}]}}),
    ("ingresses", {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": {"rules": [{
        "host": "h.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {
            "service": {"name": "s", "port": {"number": 80}}}}]}}]}}),
    ("horizontalpodautoscalers", {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": {
        "maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}}),
    ("replicationcontrollers", {"apiVersion": "v1", "kind": "ReplicationController", "spec": {
        "selector": {"a": "b"},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
    ("runtimeclasses", {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "gvisor"}),
    ("flowschemas", {"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "spec": {
        "priorityLevelConfiguration": {"name": "global-default"}, "matchingPrecedence": 500}}),
    ("prioritylevelconfigurations", {"apiVersion": "flowcontrol.apiserver.k8s.io/v1",
                                     "kind": "PriorityLevelConfiguration", "spec": {
        "type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}}),
    ("csidrivers", {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "spec": {"attachRequired": False}}),
    ("validatingwebhookconfigurations", {"apiVersion": "admissionregistration.k8s.io/v1",
                                         "kind": "ValidatingWebhookConfiguration", "webhooks": [{
        "name": "a.b.c", "clientConfig": {"service": {"name": "s", "namespace": "q"}}, "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [{"apiGroups": ["zz"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["zz"]}]}]}),
]


@pytest.mark.parametrize("plural,manifest", INERT, ids=[plural for plural, _ in INERT])
def test_kinds_that_only_stay(kubectl, namespace, plural, manifest):
    kubectl.needs(22)
    name = f"d-{namespace}"
    manifest = {**manifest, "metadata": {"name": name}}
    applied = kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    assert "Warning: Trainyard keeps this object but" in applied.err
    again = kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    assert "serverside-applied" in again.out
    kubectl("diff", "--server-side", "-f", "-", stdin=manifest)
    assert kubectl("get", plural, name).rows[1][0] == name
    stored = kubectl.json("get", plural, name)
    conditions = stored.get("status", {}).get("conditions", [])
    assert not conditions or conditions[0]["type"] == "Inert"
    kubectl("delete", plural, name)


def test_a_deployment_scales_on_paper(kubectl):
    manifest = {**INERT[0][1], "metadata": {"name": "d"}}
    kubectl("apply", "-f", "-", stdin=manifest)
    kubectl("scale", "deployment", "d", "--replicas", "3")
    deployment = kubectl.json("get", "deployment", "d")
    assert deployment["spec"]["replicas"] == 3 and deployment["metadata"]["generation"] == 2
    assert deployment["spec"]["strategy"] == {"type": "RollingUpdate",
                                              "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    assert kubectl("get", "deployment", "d").rows[1][:4] == ["d", "0/3", "0", "0"]
    wrong = kubectl("patch", "deployment", "d", "--type", "merge", "-p",
                    '{"spec":{"selector":{"matchLabels":{"z":"z"}}}}', expect=1)
    assert "field is immutable" in wrong.err
