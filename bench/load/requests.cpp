#include "load/requests.h"

#include <fmt/format.h>

namespace yard::bench {
namespace {

constexpr int kSettings = 7;

std::string settings() {
  std::string text;
  for (int i = 0; i < kSettings; ++i) {
    fmt::format_to(std::back_inserter(text),
                   R"({}{{"name":"SETTING_{}","value":"a value of the size values have, {}"}})",
                   i == 0 ? "" : ",", i, i);
  }
  return text;
}

}  // namespace

std::string job_text(std::string_view ns, std::string_view name) {
  static const std::string kSettingsText = settings();
  return fmt::format(
      R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"{0}","namespace":"{1}",)"
      R"("labels":{{"app":"resnet","team":"vision","stage":"train","round":"0"}},)"
      R"("annotations":{{"example.com/owner":"someone@example.com","example.com/purpose":"a run of the benchmark"}}}},)"
      R"("spec":{{"suspend":true,"managedBy":"trainyard.dev/bench","backoffLimit":3,"completions":4,"parallelism":4,)"
      R"("template":{{"metadata":{{"labels":{{"app":"resnet","team":"vision"}}}},"spec":{{"restartPolicy":"Never",)"
      R"("containers":[{{"name":"trainer","image":"training:1.0","command":["python","-m","train"],)"
      R"("args":["--model=resnet50","--epochs=90","--batch-size=256","--learning-rate=0.1","--data=/data","--output=/output"],)"
      R"("env":[{2}],"resources":{{"requests":{{"cpu":"4","memory":"16Gi"}},"limits":{{"cpu":"8","memory":"32Gi"}}}},)"
      R"("volumeMounts":[{{"name":"data","mountPath":"/data","readOnly":true}},{{"name":"output","mountPath":"/output"}}]}}],)"
      R"("volumes":[{{"name":"data","persistentVolumeClaim":{{"claimName":"imagenet"}}}},{{"name":"output","emptyDir":{{}}}}],)"
      R"("tolerations":[{{"key":"gpu","operator":"Exists","effect":"NoSchedule"}}]}}}}}}}})",
      name, ns, kSettingsText);
}

std::string job_name(std::string_view prefix, uint64_t number) {
  return fmt::format("{}-{:06}", prefix, number);
}

Requests::Requests(const Target& target, std::string ns)
    : host_(fmt::format("{}:{}", target.host, target.port)),
      ns_(std::move(ns)),
      jobs_("/apis/batch/v1/namespaces/" + ns_ + "/jobs") {}

std::string Requests::create(std::string_view name) const {
  return text("POST", jobs_, "Content-Type: application/json\r\n", job_text(ns_, name));
}

std::string Requests::create_from(std::string_view path, std::string body,
                                  std::string_view name) const {
  constexpr std::string_view kMark = "NAME";
  for (size_t at = body.find(kMark); at != std::string::npos;
       at = body.find(kMark, at + name.size()))
    body.replace(at, kMark.size(), name);
  return text("POST", path, "Content-Type: application/json\r\n", body);
}

std::string Requests::get(std::string_view name) const {
  return text("GET", fmt::format("{}/{}", jobs_, name), "", "");
}

std::string Requests::remove(std::string_view name) const {
  return text("DELETE", fmt::format("{}/{}", jobs_, name), "", "");
}

std::string Requests::label(std::string_view name, std::string_view value) const {
  return patch(name, fmt::format(R"({{"metadata":{{"labels":{{"round":"{}"}}}}}})", value));
}

std::string Requests::annotate(std::string_view name, std::string_view value) const {
  return patch(name, fmt::format(R"({{"metadata":{{"annotations":{{"{}":"{}"}}}}}})",
                                 kSentAnnotation, value));
}

std::string Requests::list(std::string_view accept) const {
  return text("GET", jobs_, fmt::format("Accept: {}\r\n", accept), "");
}

std::string Requests::watch(std::string_view revision) const {
  return text(
      "GET",
      fmt::format("{}?watch=true&allowWatchBookmarks=true&timeoutSeconds=600&resourceVersion={}",
                  jobs_, revision),
      "Accept: application/json\r\n", "");
}

std::string Requests::ready() const {
  return text("GET", "/readyz", "", "");
}

std::string Requests::text(std::string_view method, std::string_view path, std::string_view headers,
                           std::string_view body) const {
  std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: yard-bench\r\n{}",
                                    method, path, host_, headers);
  if (!body.empty())
    fmt::format_to(std::back_inserter(request), "Content-Length: {}\r\n", body.size());
  request += "\r\n";
  request += body;
  return request;
}

std::string Requests::patch(std::string_view name, std::string_view body) const {
  return text("PATCH", fmt::format("{}/{}", jobs_, name),
              "Content-Type: application/merge-patch+json\r\n", body);
}

}  // namespace yard::bench
