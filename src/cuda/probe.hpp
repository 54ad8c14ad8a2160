// Whether this build holds machine code for a GPU.
#pragma once

namespace gradus::cuda {

bool has_code_for(int gpu);

}  // namespace gradus::cuda
