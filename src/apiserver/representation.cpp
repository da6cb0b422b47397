#include "apiserver/representation.h"

#include <deque>

#include <fmt/format.h>

#include "api/table.h"
#include "apiserver/status.h"
#include "base/strings.h"
#include "json/yaml.h"

namespace yard {
namespace {

constexpr size_t kBlock = 64 * 1024;

// Collects a body as slices: fixed texts, parts of objects, and blocks of rendered text that never
// move.
class SliceBody {
 public:
  void fixed(std::string_view text) {
    slices_.push_back(text);
  }  // outlives the answer: literal or object
  void own(const ObjectPtr& object) { owners_.push_back(object); }
  void rendered(std::string_view text) {
    if (blocks_->empty() || blocks_->back().size() + text.size() > blocks_->back().capacity()) {
      blocks_->emplace_back();
      blocks_->back().reserve(std::max(kBlock, text.size()));
    }
    std::string& block = blocks_->back();
    const size_t at = block.size();
    block += text;
    const std::string_view view(block.data() + at, text.size());
    // Neighbours in one block become one slice.
    if (!slices_.empty() && slices_.back().data() + slices_.back().size() == view.data()) {
      slices_.back() = std::string_view(slices_.back().data(), slices_.back().size() + view.size());
    } else {
      slices_.push_back(view);
    }
  }
  HttpResponse finish(int status) {
    HttpResponse out;
    out.status = status;
    out.headers = {{"Content-Type", "application/json"}};
    out.slices = std::move(slices_);
    out.owners = std::move(owners_);
    out.owners.push_back(blocks_);
    return out;
  }
  std::string text() const {
    std::string out;
    for (const std::string_view slice : slices_)
      out += slice;
    return out;
  }
  void reserve(size_t objects) {
    slices_.reserve(objects * 3 + 4);
    owners_.reserve(objects + 1);
  }

 private:
  std::vector<std::string_view> slices_;
  std::vector<std::shared_ptr<const void>> owners_;
  std::shared_ptr<std::deque<std::string>> blocks_ = std::make_shared<std::deque<std::string>>();
};

HttpResponse text_response(std::string text, const char* content_type, int status) {
  HttpResponse out;
  out.status = status;
  out.headers = {{"Content-Type", content_type}};
  out.body.push_back(std::make_shared<const std::string>(std::move(text)));
  return out;
}

std::string list_metadata_text(const ListMetadata& metadata) {
  std::string out = fmt::format("{{\"resourceVersion\":\"{}\"", metadata.revision);
  if (!metadata.continue_token.empty()) {
    out += ",\"continue\":";
    append_quoted(out, metadata.continue_token);
  }
  if (metadata.remaining && !metadata.continue_token.empty())
    out += fmt::format(",\"remainingItemCount\":{}", *metadata.remaining);
  return out + "}";
}

void add_partial(SliceBody& body, const ObjectPtr& object, std::string_view version) {
  body.rendered(fmt::format(
      "{{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/{}\",\"metadata\":",
      version));
  body.fixed(object->metadata());
  body.fixed("}");
}

void add_row(SliceBody& body, const ObjectPtr& object, const Rendering& rendering) {
  std::string cells = "{\"cells\":";
  append_rendered_cells(cells, object->cells(), rendering.now);
  if (rendering.include == IncludeObject::None) {
    body.rendered(cells + "}");
    return;
  }
  cells += ",\"object\":";
  body.rendered(cells);
  if (rendering.include == IncludeObject::Object) {
    body.fixed(object->body());
  } else {
    add_partial(body, object, rendering.representation.transform_version);
  }
  body.fixed("}");
}

std::string table_head(const Kind& kind, const Rendering& rendering, std::string_view metadata,
                       bool with_columns) {
  std::string out = fmt::format(
      "{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/"
      "{}\",\"metadata\":{},\"columnDefinitions\":",
      rendering.representation.transform_version, metadata);
  if (with_columns) {
    append_columns(out, kind.columns);
  } else {
    out += "[]";
  }
  return out + ",\"rows\":[";
}

// Re-encodes for the few who ask for YAML or indented JSON.
HttpResponse dressed(SliceBody& body, const Rendering& rendering, int status) {
  if (!rendering.pretty && !rendering.representation.yaml) return body.finish(status);
  auto parsed = parse_json(body.text());
  check(parsed.has_value(), "our own answer is valid JSON");
  return tree_response(parsed->value, rendering, status);
}

}  // namespace

void append_columns(std::string& out, const std::vector<Column>& columns) {
  out += "[";
  for (const Column& column : columns) {
    if (&column != &columns.front()) out += ",";
    out += "{\"name\":";
    append_quoted(out, column.name);
    out += ",\"type\":";
    append_quoted(out, column.type);
    out += ",\"format\":";
    append_quoted(out, column.format);
    out += ",\"description\":";
    append_quoted(out, column.description);
    out += fmt::format(",\"priority\":{}}}", column.priority);
  }
  out += "]";
}

HttpResponse tree_response(const Json& tree, const Rendering& rendering, int status) {
  if (rendering.representation.yaml)
    return text_response(to_yaml(tree), "application/yaml", status);
  return text_response((rendering.pretty ? to_pretty_text(tree) : to_text(tree)) + "\n",
                       "application/json", status);
}

HttpResponse error_response(const Error& failure, bool pretty) {
  Rendering rendering;
  rendering.pretty = pretty;
  HttpResponse out = tree_response(status_of(failure), rendering, http_code(failure.reason));
  if (failure.details.retry_after_seconds > 0) {
    out.headers.emplace_back("Retry-After", std::to_string(failure.details.retry_after_seconds));
  }
  return out;
}

HttpResponse object_response(const Kind& kind, const ObjectPtr& object, const Rendering& rendering,
                             int status) {
  SliceBody body;
  body.own(object);
  switch (rendering.representation.form) {
    case Representation::Form::Object: body.fixed(object->body()); break;
    case Representation::Form::PartialMetadata:
      add_partial(body, object, rendering.representation.transform_version);
      break;
    case Representation::Form::Table:
      body.rendered(table_head(kind, rendering,
                               fmt::format("{{\"resourceVersion\":\"{}\"}}", object->revision()),
                               true));
      add_row(body, object, rendering);
      body.fixed("]}");
      break;
  }
  body.fixed("\n");
  return dressed(body, rendering, status);
}

HttpResponse list_response(const Kind& kind, std::vector<ObjectPtr> objects,
                           const ListMetadata& metadata, const Rendering& rendering) {
  SliceBody body;
  body.reserve(objects.size());
  const std::string about = list_metadata_text(metadata);
  const Representation& form = rendering.representation;
  switch (form.form) {
    case Representation::Form::Object:
      body.rendered(
          fmt::format("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
                      kind.list_kind, kind.api_version(), about));
      break;
    case Representation::Form::PartialMetadata:
      body.rendered(
          fmt::format("{{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/"
                      "{}\",\"metadata\":{},\"items\":[",
                      form.transform_version, about));
      break;
    case Representation::Form::Table:
      body.rendered(table_head(kind, rendering, about, true));
      break;
  }
  bool first = true;
  for (const ObjectPtr& object : objects) {
    body.own(object);
    switch (form.form) {
      case Representation::Form::Object:
        // Items of built-in lists carry no type; the body without it begins behind the brace.
        body.fixed(first ? "" : ",");
        if (kind.custom) {
          body.fixed(object->body());
        } else {
          body.fixed("{");
          body.fixed(object->body_without_type());
        }
        break;
      case Representation::Form::PartialMetadata:
        body.fixed(first ? "" : ",");
        add_partial(body, object, form.transform_version);
        break;
      case Representation::Form::Table:
        if (!first) body.rendered(",");
        add_row(body, object, rendering);
        break;
    }
    first = false;
  }
  body.fixed("]}\n");
  return dressed(body, rendering, 200);
}

std::string event_line(std::string_view type, const Kind& kind, const Object& object,
                       const Rendering& rendering, bool with_columns) {
  std::string out;
  out.reserve(object.body().size() + 256);
  out.append("{\"type\":\"").append(type).append("\",\"object\":");
  switch (rendering.representation.form) {
    case Representation::Form::Object: out += object.body(); break;
    case Representation::Form::PartialMetadata:
      out += fmt::format(
          "{{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/"
          "{}\",\"metadata\":{}}}",
          rendering.representation.transform_version, object.metadata());
      break;
    case Representation::Form::Table: {
      out += table_head(kind, rendering,
                        fmt::format("{{\"resourceVersion\":\"{}\"}}", object.revision()),
                        with_columns);
      out += "{\"cells\":";
      append_rendered_cells(out, object.cells(), rendering.now);
      if (rendering.include == IncludeObject::Object) {
        out.append(",\"object\":").append(object.body());
      } else if (rendering.include == IncludeObject::Metadata) {
        out += fmt::format(
            ",\"object\":{{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/"
            "{}\",\"metadata\":{}}}",
            rendering.representation.transform_version, object.metadata());
      }
      out += "}]}";
      break;
    }
  }
  out += "}\n";
  return out;
}

Result<IncludeObject> include_object(std::string_view parameter) {
  if (parameter.empty() || parameter == "Metadata") return IncludeObject::Metadata;
  if (parameter == "Object") return IncludeObject::Object;
  if (parameter == "None") return IncludeObject::None;
  return error(
      Reason::BadRequest,
      fmt::format(
          "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be "
          "'Metadata', 'Object', 'None', or empty",
          quoted(parameter)));
}

}  // namespace yard
