#pragma once
// A process as those see it who only move its bytes. All non-blocking.

#include "base/descriptor.h"

namespace yard {

struct ProcessStreams {
  Descriptor input;   // not open: it takes none
  Descriptor output;  // not open: nobody asked for it
  Descriptor errors;
  Descriptor terminal;  // open when it has one: takes sizes
  Descriptor
      end;  // SEQPACKET; hears "exit <code>" or "failed <why>". Closing it leaves the process.
};

}  // namespace yard
