#include "node/shim_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include "node/files.h"

extern "C" const char yard_shim_program_begin[], yard_shim_program_end[];

namespace yard {

std::string_view shim_program() {
  return {yard_shim_program_begin,
          static_cast<size_t>(yard_shim_program_end - yard_shim_program_begin)};
}

Result<std::string> install_shim(const std::string& state_folder) {
  const std::string folder = state_folder + "/bin", path = folder + "/trainyard-shim";
  TRY(make_folders(folder, 0700));
  const auto there = read_text(path, shim_program().size() + 1);
  if (there && *there == shim_program()) return path;
  TRY(write_text(path + ".new", shim_program(), 0700, true));
  if (rename((path + ".new").c_str(), path.c_str()) != 0)
    return system_error("cannot put the shim at " + path);
  return path;
}

}  // namespace yard
