#include "api/checks.h"
#include "api/core/pod_template.h"
#include "api/meta/quantity.h"

namespace yard {
namespace {

constexpr int kReadableFileMode = 0644;

// Sets what is absent, and what is empty where Go cannot tell empty from absent.
void default_text(JsonObject& object, std::string_view key, std::string_view value) {
  Json* member = object.if_contains(key);
  if (!member) {
    object.emplace(key, value);
  } else if (member->is_null() || (member->is_string() && member->get_string().empty())) {
    *member = value;
  }
}

void default_number(JsonObject& object, std::string_view key, int64_t value) {
  if (Json* member = object.if_contains(key); !member) {
    object.emplace(key, value);
  } else if (int_of(*member) == 0) {
    *member = value;
  }
}

JsonObject* object_in(JsonObject& parent, std::string_view key) {
  Json* member = parent.if_contains(key);
  return member ? member->if_object() : nullptr;
}

template <typename Visit>
void for_each_in(JsonObject& parent, std::string_view key, Visit visit) {
  Json* member = parent.if_contains(key);
  JsonArray* items = member ? member->if_array() : nullptr;
  if (!items) return;
  for (Json& item : *items) {
    if (JsonObject* object = item.if_object()) visit(*object);
  }
}

// Always for `latest`, written or implied; a digest alone pins the image.
std::string_view default_pull_policy(std::string_view image) {
  if (image.empty()) return "IfNotPresent";
  const size_t digest = image.find('@');
  const std::string_view name = image.substr(0, digest);
  const size_t colon = name.rfind(':');
  const size_t slash = name.rfind('/');
  const bool tagged =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  if (tagged) return name.substr(colon + 1) == "latest" ? "Always" : "IfNotPresent";
  return digest == std::string_view::npos ? "Always" : "IfNotPresent";
}

void default_field_ref(JsonObject& parent) {
  if (JsonObject* ref = object_in(parent, "fieldRef")) default_text(*ref, "apiVersion", "v1");
}

void default_http_get(JsonObject& handler) {
  JsonObject* get = object_in(handler, "httpGet");
  if (!get) return;
  default_text(*get, "path", "/");
  default_text(*get, "scheme", "HTTP");
}

void default_probe(JsonObject& container, std::string_view key) {
  JsonObject* probe = object_in(container, key);
  if (!probe) return;
  default_http_get(*probe);
  if (JsonObject* grpc = object_in(*probe, "grpc")) grpc->emplace("service", "");
  default_number(*probe, "timeoutSeconds", 1);
  default_number(*probe, "periodSeconds", 10);
  default_number(*probe, "successThreshold", 1);
  default_number(*probe, "failureThreshold", 3);
}

// A milli-unit is the finest step any resource is handed out in.
void round_up_to_milli(JsonObject& quantities) {
  for (auto& [name, value] : quantities) {
    const std::string_view text = text_of(value);
    if (!text.ends_with('n') && !text.ends_with('u')) continue;
    const Result<Quantity> quantity = Quantity::parse(text);
    if (!quantity) continue;
    value = Quantity::parse(std::to_string(quantity->milli()) + "m")->canonical();
  }
}

void default_container(JsonObject& container) {
  JsonObject& resources = object_at(container, "resources");
  for (const char* list : {"limits", "requests"}) {
    if (JsonObject* quantities = object_in(resources, list)) round_up_to_milli(*quantities);
  }
  for_each_in(container, "ports", [](JsonObject& port) { default_text(port, "protocol", "TCP"); });
  for_each_in(container, "env", [](JsonObject& variable) {
    if (JsonObject* source = object_in(variable, "valueFrom")) default_field_ref(*source);
  });
  default_probe(container, "livenessProbe");
  default_probe(container, "readinessProbe");
  default_probe(container, "startupProbe");
  if (JsonObject* lifecycle = object_in(container, "lifecycle")) {
    for (const char* hook : {"postStart", "preStop"}) {
      if (JsonObject* handler = object_in(*lifecycle, hook)) default_http_get(*handler);
    }
  }
  default_text(container, "terminationMessagePath", "/dev/termination-log");
  default_text(container, "terminationMessagePolicy", "File");
  default_text(container, "imagePullPolicy", default_pull_policy(text_in(container, "image")));
}

void default_volume(JsonObject& volume) {
  if (volume.size() == (volume.contains("name") ? 1U : 0U))
    volume.emplace("emptyDir", JsonObject());
  if (JsonObject* host_path = object_in(volume, "hostPath")) host_path->emplace("type", "");
  for (const char* source : {"secret", "configMap", "downwardAPI", "projected"}) {
    if (JsonObject* files = object_in(volume, source)) {
      files->emplace("defaultMode", kReadableFileMode);
      for_each_in(*files, "items", default_field_ref);
    }
  }
  if (JsonObject* projected = object_in(volume, "projected")) {
    for_each_in(*projected, "sources", [](JsonObject& source) {
      if (JsonObject* token = object_in(source, "serviceAccountToken")) {
        token->emplace("expirationSeconds", 3600);
      }
      if (JsonObject* fields = object_in(source, "downwardAPI")) {
        for_each_in(*fields, "items", default_field_ref);
      }
    });
  }
  if (JsonObject* ephemeral = object_in(volume, "ephemeral")) {
    if (JsonObject* claim = object_in(*ephemeral, "volumeClaimTemplate")) {
      default_text(object_at(*claim, "spec"), "volumeMode", "Filesystem");
    }
  }
  if (JsonObject* image = object_in(volume, "image")) {
    default_text(*image, "pullPolicy", default_pull_policy(text_in(*image, "reference")));
  }
}

void copy_limits_to_requests(JsonObject& container) {
  JsonObject* resources = object_in(container, "resources");
  JsonObject* limits = resources ? object_in(*resources, "limits") : nullptr;
  if (!limits || limits->empty()) return;
  const JsonObject copy = *limits;  // making `requests` may move what `limits` points to
  JsonObject& requests = object_at(*resources, "requests");
  for (const auto& [name, value] : copy)
    requests.emplace(name, value);
}

void default_host_ports(JsonObject& container) {
  for_each_in(container, "ports", [](JsonObject& port) {
    if (const Json* number = port.if_contains("containerPort")) {
      default_number(port, "hostPort", int_of(*number));
    }
  });
}

// The deprecated name and the current one always say the same.
void mirror_service_account(JsonObject& spec) {
  const std::string name(text_in(spec, "serviceAccountName"));
  const std::string old_name(text_in(spec, "serviceAccount"));
  if (!name.empty())
    spec["serviceAccount"] = name;
  else if (!old_name.empty())
    spec["serviceAccountName"] = old_name;
}

}  // namespace

void set_pod_spec_defaults(JsonObject& spec, bool is_pod) {
  const bool host_network = bool_in(spec, "hostNetwork");
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    for_each_in(spec, list, [&](JsonObject& container) {
      default_container(container);
      if (!is_pod || std::string_view(list) == "ephemeralContainers") return;
      copy_limits_to_requests(container);
      if (host_network) default_host_ports(container);
    });
  }
  for_each_in(spec, "volumes", default_volume);
  default_text(spec, "restartPolicy", "Always");
  spec.emplace("terminationGracePeriodSeconds", 30);
  default_text(spec, "dnsPolicy", "ClusterFirst");
  mirror_service_account(spec);
  object_at(spec, "securityContext");
  default_text(spec, "schedulerName", "default-scheduler");
  if (is_pod) spec.emplace("enableServiceLinks", true);
}

void set_pod_template_defaults(JsonObject& parent) {
  JsonObject& pod_template = object_at(parent, "template");
  object_at(pod_template, "metadata");
  set_pod_spec_defaults(object_at(pod_template, "spec"), false);
}

}  // namespace yard
