// metrics.k8s.io: what pods and nodes use, asked of the node when a client asks (kubectl top).

#include <fmt/format.h>

#include "api/tree.h"
#include "apiserver/exchange.h"
#include "apiserver/usage_table.h"
#include "client/usage_source.h"

namespace yard {
namespace {

JsonObject amounts(const Use& use) {
  return {{"cpu", fmt::format("{}n", use.nanocores)},
          {"memory", fmt::format("{}Ki", use.memory_bytes / 1024)}};
}

JsonObject metrics_of(const Kind& kind, const Object& object, const UsageReport& report) {
  JsonObject metadata{{"name", object.name()}};
  if (!object.ns().empty()) metadata["namespace"] = object.ns();
  metadata["creationTimestamp"] = rfc3339(report.at);
  const Json tree = object.tree();
  if (const Json* labels = find_path(tree, {"metadata", "labels"})) metadata["labels"] = *labels;
  return {{"kind", kind.kind},
          {"apiVersion", kind.api_version()},
          {"metadata", std::move(metadata)},
          {"timestamp", rfc3339(report.at)},
          {"window", window_text(report.window)}};
}

std::optional<JsonObject> pod_metrics(const Kind& kind, const Object& pod,
                                      const UsageReport& report) {
  const auto found = report.pods.find(std::string(pod.uid()));
  if (found == report.pods.end()) return std::nullopt;
  JsonObject out = metrics_of(kind, pod, report);
  JsonArray containers;
  for (const auto& [name, use] : found->second)
    containers.push_back(JsonObject{{"name", name}, {"usage", amounts(use)}});
  out["containers"] = std::move(containers);
  return out;
}

std::optional<JsonObject> node_metrics(const Kind& kind, const Object& node,
                                       const UsageReport& report) {
  if (node.name() != report.node) return std::nullopt;
  JsonObject out = metrics_of(kind, node, report);
  out["usage"] = amounts(report.machine);
  return out;
}

}  // namespace

void ApiServer::read_usage(const ExchangePtr& exchange) {
  const bool named = !exchange->path.name.empty();
  exchange->labels.verb = named ? "GET" : "LIST";
  auto representation =
      negotiate(exchange->request.header("Accept"), Offer{.list = !named, .transforms = true});
  if (!representation) return exchange->fail(representation.error());
  auto include = include_object(exchange->query.get("includeObject"));
  if (!include) return exchange->fail(include.error());
  Rendering rendering = exchange->rendering(*representation);
  rendering.include = *include;
  if (usage_ == nullptr)
    return exchange->fail(error(Reason::ServiceUnavailable, "no node agent runs in this server"));
  auto options = parse_list_options(exchange->query, false);
  if (!options) return exchange->fail(options.error());
  // The objects they are about have the labels and fields that select.
  const KindPtr about = kinds()->find("", "v1", exchange->path.plural);
  if (named) options->field_selector = "metadata.name=" + exchange->path.name;
  auto selection = parse_selection(*about, exchange->path.ns, *options);
  if (!selection) return exchange->fail(selection.error());
  loop_.post([this, exchange, about, named, rendering, options = std::move(*options),
              selection = std::move(*selection)] {
    usage_->measure(
        [this, exchange, about, named, rendering, options, selection](const UsageReport& report) {
          const Kind& shown = *exchange->kind;
          auto listed = list_objects(store_, *about, selection, options);
          if (!listed) return exchange->fail(listed.error());
          JsonArray items;
          for (const ObjectPtr& object : listed->objects) {
            auto item = shown.namespaced ? pod_metrics(shown, *object, report)
                                         : node_metrics(shown, *object, report);
            if (item) items.push_back(std::move(*item));
          }
          if (named && items.empty())
            return exchange->fail(not_found_error(shown, exchange->path.name));
          Rendering plain = rendering;
          plain.representation.form = Representation::Form::Object;
          if (rendering.representation.form == Representation::Form::Table)
            return exchange->finish(tree_response(usage_table(items, rendering), plain, 200));
          const Json answer = named ? std::move(items.front())
                                    : Json(JsonObject{{"kind", shown.list_kind},
                                                      {"apiVersion", shown.api_version()},
                                                      {"metadata", JsonObject{}},
                                                      {"items", std::move(items)}});
          exchange->finish(tree_response(answer, plain, 200));
        });
  });
}

}  // namespace yard
