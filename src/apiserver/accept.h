#pragma once
// Content negotiation (api-machinery 1.3). Pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace yard {

struct Representation {
  enum class Form { Object, Table, PartialMetadata };
  Form form = Form::Object;
  std::string transform_version = "v1";  // of meta.k8s.io for Table and PartialMetadata
  bool yaml = false;
};

// What the endpoint can do besides plain objects.
struct Offer {
  bool list = false;  // answers a list: PartialObjectMetadataList rather than PartialObjectMetadata
  bool transforms = true;  // Table and PartialObjectMetadata are served here
  bool watch = false;      // YAML cannot be streamed
};

Result<Representation> negotiate(std::string_view accept, const Offer& offer);

// One clause of an Accept header: application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9
struct AcceptClause {
  std::string media_type;
  std::string as, group, version;
  double quality = 1;
};
std::vector<AcceptClause> parse_accept(std::string_view accept);  // best first

}  // namespace yard
