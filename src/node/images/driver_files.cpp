#include "node/images/driver_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/strings.h"

namespace yard {
namespace {

namespace fs = std::filesystem;

// Compute, management and what those load; nothing for screens.
constexpr std::string_view kLibraries[] = {"libcuda.so",
                                           "libcudadebugger.so",
                                           "libnvidia-ml.so",
                                           "libnvidia-ptxjitcompiler.so",
                                           "libnvidia-nvvm.so",
                                           "libnvidia-cfg.so",
                                           "libnvidia-opencl.so",
                                           "libnvidia-gpucomp.so",
                                           "libnvidia-allocator.so",
                                           "libnvidia-pkcs11-openssl3.so"};
constexpr std::string_view kPrograms[] = {"nvidia-smi", "nvidia-debugdump",
                                          "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"};

}  // namespace

bool is_driver_library(std::string_view name) {
  return std::ranges::any_of(kLibraries, [&](std::string_view library) {
    return name.starts_with(library) &&
           (name.size() == library.size() || name[library.size()] == '.');
  });
}

std::vector<DriverFile> driver_files_in(const std::vector<std::string>& library_folders,
                                        const std::vector<std::string>& program_folders) {
  std::vector<DriverFile> out;
  std::set<std::string> seen;
  for (const std::string& folder : library_folders) {
    std::error_code failed;
    for (fs::directory_iterator each(folder, failed), end; !failed && each != end;
         each.increment(failed)) {
      const std::string name = each->path().filename().string();
      if (!is_driver_library(name) || !seen.insert(name).second) continue;
      // A link leads to a file whose name the container may lack: the file itself is shown.
      std::error_code gone;
      const fs::path real = fs::canonical(each->path(), gone);
      if (gone || !fs::is_regular_file(real, gone)) continue;
      out.push_back({real.string(), std::string(kDriverFolder) + "/" + name, true});
    }
  }
  for (const std::string_view program : kPrograms) {
    for (const std::string& folder : program_folders) {
      const std::string path = folder + "/" + std::string(program);
      std::error_code failed;
      if (!fs::is_regular_file(path, failed)) continue;
      out.push_back({path, "/usr/bin/" + std::string(program), false});
      break;
    }
  }
  std::ranges::sort(out, {}, &DriverFile::target);
  return out;
}

std::vector<std::string> library_folders(std::string_view library_path) {
  std::vector<std::string> out;
  for (const std::string_view each : split(library_path, ':'))
    if (each.starts_with('/')) out.emplace_back(each);
  out.insert(out.end(), {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                         "/usr/lib", "/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/wsl/lib",
                         "/usr/local/nvidia/lib64"});
  return out;
}

const std::vector<DriverFile>& driver_files() {
  const char* library_path = std::getenv("LD_LIBRARY_PATH");
  static const std::vector<DriverFile> kFiles =
      driver_files_in(library_folders(library_path == nullptr ? "" : library_path),
                      {"/usr/bin", "/usr/local/bin", "/usr/lib/wsl/lib", "/usr/local/nvidia/bin"});
  return kFiles;
}

}  // namespace yard
