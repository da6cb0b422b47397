#pragma once
// An ordinary user unpacks as root of a user namespace: the modes of its own files do not stop it
// there, and overlayfs in a pod sees the same marks.

namespace yard {

// Once, at the start of a program, before it has threads. Where the kernel refuses, or root needs
// none, nothing changes.
void enter_namespace_to_unpack();
bool in_namespace_to_unpack();

}  // namespace yard
