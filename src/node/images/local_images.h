#pragma once
// What image entries name on this machine's disk: Python environments and the offers of
// `trainyard run`. Small blocking reads.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "node/images/resolve_image.h"

namespace yard {

// On a pod: the offer of `trainyard run` for its containers whose image is not mapped.
inline constexpr std::string_view kOfferAnnotation = "trainyard.dev/local";

// An offer is a file in <state>/offers that only the owner of the state folder can write, so an
// annotation alone opens no folder to anybody; and it holds for pods of one namespace. The same
// offer has the same id, so a pod template does not change from run to run.
struct LocalOffer {
  std::string ns;
  ImageEntry entry;
};
Result<std::string> write_offer(const std::string& state_folder, const LocalOffer& offer);
std::optional<ImageEntry> read_offer(const std::string& state_folder, std::string_view id,
                                     std::string_view ns);

// Adds what the entry needs to be seen (the environment's folder, the interpreter it was made
// from), or says what is missing as a refusal.
ImageResolution on_this_machine(ImageResolution resolution);

// `home` of a pyvenv.cfg: the folder of the interpreter the environment was made from; "" if none.
std::string interpreter_folder(std::string_view pyvenv_cfg);

}  // namespace yard
