"""Kinds that are served as far as they can be true here: certificate requests, API services, older views."""
import base64
import gzip
import json
import os
import subprocess

import pytest
import yaml

from harness import Kubectl, eventually, newest_kubectl


@pytest.fixture
def kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


def certificate_request(folder, subject):
    key = os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key], check=True)
    made = subprocess.run(["openssl", "req", "-new", "-key", key, "-subj", subject], check=True, capture_output=True)
    return key, base64.b64encode(made.stdout).decode()


def request_object(name, request, **spec):
    return {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
            "spec": {"request": request, "signerName": "kubernetes.io/kube-apiserver-client",
                     "usages": ["client auth"], **spec}}


def test_a_certificate_is_asked_for_approved_and_used(yard, kubectl, namespace, tmp_path):
    key, request = certificate_request(tmp_path, "/O=team/CN=ann")
    name = f"csr-{namespace}"
    kubectl("create", "-f", "-", stdin=request_object(name, request, username="somebody else"))
    asked = kubectl.json("get", "csr", name)
    assert asked["spec"]["username"] == "kubernetes-admin", asked["spec"]
    assert kubectl("get", "csr", name).rows[1][-1] == "Pending"
    kubectl("certificate", "approve", name)
    signed = eventually(lambda: kubectl.json("get", "csr", name)["status"].get("certificate"))
    assert kubectl("get", "csr", name).rows[1][-1] == "Approved,Issued"
    with open(yard.kubeconfig, encoding="utf-8") as stream:
        config = yaml.safe_load(stream)
    with open(key, "rb") as stream:
        config["users"][0]["user"] = {"client-certificate-data": signed,
                                      "client-key-data": base64.b64encode(stream.read()).decode()}
    own = os.path.join(tmp_path, "ann.kubeconfig")
    with open(own, "w", encoding="utf-8") as stream:
        yaml.safe_dump(config, stream)
    refused = kubectl("get", "pods", kubeconfig=own, expect=1).err
    assert 'User "ann" cannot list resource "pods"' in refused, refused
    kubectl("create", "rolebinding", "team", "--clusterrole", "view", "--group", "team")
    eventually(lambda: kubectl("get", "pods", kubeconfig=own, expect=None).code == 0)


def test_what_is_not_signed(kubectl, namespace, tmp_path):
    _, masters = certificate_request(tmp_path, "/O=system:masters/CN=mallory")
    refused = kubectl("create", "-f", "-", stdin=request_object(f"m-{namespace}", masters), expect=1).err
    assert "system:masters group is not allowed" in refused, refused
    broken = base64.b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n").decode()
    refused = kubectl("create", "-f", "-", stdin=request_object(f"b-{namespace}", broken), expect=1).err
    assert "spec.request: Invalid value" in refused, refused
    _, request = certificate_request(tmp_path, "/CN=bob")
    name = f"d-{namespace}"
    said = kubectl("create", "-f", "-", stdin=request_object(name, request, signerName="example.com/mine"))
    assert "Warning: Trainyard signs only for" in said.err, said.err
    kubectl("certificate", "deny", name)
    assert kubectl("get", "csr", name).rows[1][-1] == "Denied"
    refused = kubectl("certificate", "approve", name, expect=None)
    assert "Approved" not in kubectl("get", "csr", name).rows[1][-1], refused


def test_api_services_follow_what_is_served(kubectl, namespace):
    rows = {row[0]: row[1:3] for row in kubectl("get", "apiservices").rows[1:]}
    for name in ("v1.", "v1.batch", "v1.kubeflow.org", "v2.autoscaling", "v1.autoscaling"):
        assert rows[name] == ["Local", "True"], rows
    group = f"{namespace}.example.com"
    kubectl("create", "-f", "-", stdin={
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
                 "versions": [{"name": "v1", "served": True, "storage": True,
                               "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                                   "size": {"type": "integer", "description": "how large"}}}}}]}})
    eventually(lambda: kubectl("get", "apiservice", f"v1.{group}", expect=None).code == 0)
    # OpenAPI v2 as JSON has it at once.
    name = ".".join(reversed(group.split("."))) + ".v1.Thing"
    document = json.loads(kubectl("get", "--raw", "/openapi/v2").out)
    assert document["definitions"][name]["properties"]["size"] == {"type": "integer", "description": "how large"}
    assert "io.k8s.api.core.v1.Pod" in document["definitions"]
    assert document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["get"]["x-kubernetes-action"] == "get"
    kubectl("delete", "crd", f"things.{group}")
    eventually(lambda: kubectl("get", "apiservice", f"v1.{group}", expect=None).code != 0)


def test_an_autoscaler_in_both_versions(yard, kubectl, namespace):
    old = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
           "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 55,
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}}
    assert "Warning: Trainyard keeps this object" in kubectl("create", "-f", "-", stdin=old).err
    path = f"/namespaces/{namespace}/horizontalpodautoscalers/h"
    new = yard.request("GET", "/apis/autoscaling/v2" + path).json
    assert new["spec"]["metrics"] == [{"type": "Resource", "resource": {
        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 55}}}]
    new["spec"]["metrics"].append({"type": "Resource", "resource": {
        "name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}})
    assert yard.request("PUT", "/apis/autoscaling/v2" + path, new).status == 200
    shown = yard.request("GET", "/apis/autoscaling/v1" + path).json
    assert shown["apiVersion"] == "autoscaling/v1" and shown["spec"]["targetCPUUtilizationPercentage"] == 55
    shown["spec"]["targetCPUUtilizationPercentage"] = 60
    assert yard.request("PUT", "/apis/autoscaling/v1" + path, shown).status == 200
    both = yard.request("GET", "/apis/autoscaling/v2" + path).json["spec"]["metrics"]
    assert [one["resource"]["name"] for one in both] == ["cpu", "memory"], both
    assert both[0]["resource"]["target"]["averageUtilization"] == 60


def test_a_built_in_definition_goes_and_its_jobs_stay(kubectl):
    template = {"spec": {"containers": [{"name": "pytorch", "image": "i", "command": ["true"]}]}}
    kubectl("create", "-f", "-", stdin={
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "kept"},
        "spec": {"runPolicy": {"suspend": True},
                 "pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template}}}})
    name = "pytorchjobs.kubeflow.org"
    before = kubectl.json("get", "crd", name)["metadata"]["uid"]
    kubectl("delete", "crd", name)
    after = eventually(lambda: kubectl("get", "crd", name, "-o", "jsonpath={.metadata.uid}", expect=None).out)
    assert after != before
    assert kubectl("get", "pytorchjob", "kept", "-o", "name").out.strip() == "pytorchjob.kubeflow.org/kept"


def test_long_answers_are_compressed(yard, namespace):
    for i in range(4):
        yard.create(f"/api/v1/namespaces/{namespace}/configmaps",
                    {"metadata": {"name": f"m{i}"}, "data": {"a": "words " * 20_000}})
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    plain = yard.request("GET", path)
    assert "Content-Encoding" not in plain.headers
    connection = yard.api.connection
    connection.request("GET", path, headers={"Accept": "application/json", "Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    assert answer.headers["Content-Encoding"] == "gzip"
    body = answer.read()
    assert len(body) < len(plain.text) / 10
    assert json.loads(gzip.decompress(body))["items"] == plain.json["items"]


def test_the_servers_own_endpoints_and_mirrored_ones(kubectl, namespace):
    ends = kubectl("get", "endpoints", "kubernetes", "-o", "json", namespace="default").out
    [subset] = json.loads(ends)["subsets"]
    assert subset["ports"][0]["name"] == "https"
    slices = json.loads(kubectl("get", "endpointslices", "kubernetes", "-o", "json", namespace="default").out)
    assert slices["endpoints"][0]["addresses"] == [subset["addresses"][0]["ip"]]
    kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "Service", "metadata": {"name": "outside"},
                                        "spec": {"ports": [{"port": 80}]}})
    kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "outside"},
                                        "subsets": [{"addresses": [{"ip": "10.9.9.9"}], "ports": [{"port": 8080}]}]})
    mirrored = eventually(lambda: kubectl.json("get", "endpointslices", "-l",
                                               "kubernetes.io/service-name=outside")["items"])
    assert mirrored[0]["endpoints"][0]["addresses"] == ["10.9.9.9"]
    kubectl("delete", "endpoints", "outside")
    eventually(lambda: not kubectl.json("get", "endpointslices", "-l", "kubernetes.io/service-name=outside")["items"])
