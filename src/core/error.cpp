#include "gradus/error.hpp"

#include <utility>

#include "gradus/graph.hpp"

namespace gradus {
// Out of line so that each class's type information lives in the library alone and exceptions cross its boundary.
Error::~Error() = default;
UsageError::~UsageError() = default;
InputError::~InputError() = default;
UnsupportedError::~UnsupportedError() = default;
OutOfMemoryError::~OutOfMemoryError() = default;
VerificationError::~VerificationError() = default;
InterruptedError::~InterruptedError() = default;
VertexError::~VertexError() = default;

struct VertexError::Parts {
  std::string before;
  std::vector<std::int32_t> vertices;
  std::string between;
  std::string after;

  std::string message(const std::function<std::string(std::int32_t)>& called, const std::string& counted) const {
    std::string text = before;
    for (std::size_t index = 0; index < vertices.size(); ++index)
      text.append(index == 0 ? "" : between).append(called(vertices[index]));
    return text.append(counted).append(after);
  }
};

namespace {

std::string number_of(std::int32_t vertex) { return std::to_string(vertex); }

}  // namespace

VertexError::VertexError(const std::string& before, std::vector<std::int32_t> vertices, const std::string& between,
                         const std::string& after)
    : InputError(Parts{before, vertices, between, after}.message(number_of, " (vertices counted from 0)")),
      parts_(std::make_shared<const Parts>(Parts{before, std::move(vertices), between, after})) {}

const std::vector<std::int32_t>& VertexError::vertices() const noexcept { return parts_->vertices; }

std::string VertexError::message_with(const std::function<std::string(std::int32_t)>& called) const {
  return parts_->message(called, "");
}

}  // namespace gradus
