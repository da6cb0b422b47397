#pragma once
// Small deeds on files, for the shim and the sandbox. Failure leaves errno.

#include <string>

namespace shim {

bool read_whole(const char* path, std::string& out);
bool write_all(int fd, const char* data, size_t size);
bool write_file(const char* path,
                const std::string& text);  // into a file that exists (proc, cgroup)
bool make_folders(const std::string& path, unsigned mode = 0755);  // mkdir -p
bool touch(const std::string& path);  // an empty file where there is none
bool exists(const char* path);
bool is_folder(const char* path);
std::string parent_of(const std::string& path);

}  // namespace shim
