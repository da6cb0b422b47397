#pragma once

namespace yard {

// What was freed goes back to the system though nothing more is asked of the server: after a burst
// nobody comes by to do it. The thread for it sleeps while there is nothing to give back. Called
// once, by a process that stays.
void give_back_memory_at_rest();

}  // namespace yard
