/// Visibility of the public API. The shared library hides every other symbol.
#pragma once

#if defined(_WIN32)
#error "Gradus is built for Linux; on Windows use the Windows Subsystem for Linux."
#endif
#define GRADUS_EXPORT __attribute__((visibility("default")))
