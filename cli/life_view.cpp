// `gradus life --view`: shows a pattern in the terminal while it evolves.
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cli/life_steps.hpp"
#include "cli/output.hpp"
#include "cli/terminal.hpp"
#include "core/stop.hpp"
#include "life/quadtree.hpp"

namespace gradus::cli {

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

enum class Key : std::uint8_t {
  none,
  pause,
  step,
  faster,
  slower,
  more,
  fewer,
  left,
  right,
  up,
  down,
  nearer,
  further,
  home,
  help,
  quit
};

/// Decodes key presses. Terminals send escape sequences for arrow keys, which are decoded, too.
class Keyboard {
 public:
  /// Waits for a key, at most for `patience`.
  Key next(Milliseconds patience) {
    if (bytes_.empty()) {
      pollfd wanted{STDIN_FILENO, POLLIN, 0};
      if (::poll(&wanted, 1, static_cast<int>(patience.count())) <= 0) return Key::none;
      char buffer[64];
      const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
      if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) return Key::quit;  // the terminal has closed
      if (count > 0) bytes_.assign(buffer, static_cast<std::size_t>(count));
    }
    if (bytes_.empty()) return Key::none;
    if (bytes_.size() >= 3 && bytes_[0] == '\x1b' && (bytes_[1] == '[' || bytes_[1] == 'O')) {
      const char letter = bytes_[2];
      bytes_.erase(0, 3);
      constexpr std::string_view arrows = "DCAB";
      const std::size_t arrow = arrows.find(letter);
      return arrow == std::string_view::npos ? Key::none
                                             : static_cast<Key>(static_cast<std::size_t>(Key::left) + arrow);
    }
    const char letter = bytes_[0];
    bytes_.erase(0, 1);
    switch (letter) {
      case ' ':
      case 'p': return Key::pause;
      case '.':
      case 's':
      case '\r':
      case '\n': return Key::step;
      case '+':
      case '=': return Key::faster;
      case '-': return Key::slower;
      case ']': return Key::more;
      case '[': return Key::fewer;
      case 'h': return Key::left;
      case 'l': return Key::right;
      case 'k': return Key::up;
      case 'j': return Key::down;
      case 'i': return Key::nearer;
      case 'o': return Key::further;
      case 'f':
      case '0': return Key::home;
      case '?': return Key::help;
      case 'q':
      case '\x1b': return Key::quit;
      default: return Key::none;
    }
  }

 private:
  std::string bytes_;
};

class View {
 public:
  View(LifeSteps& steps, const LifeOptions& options, const LifeSize& size, std::int64_t every, std::int64_t until,
       Session& session)
      : steps_(steps), options_(options), size_(size), every_(every), until_(until), paused_(until == 0),
        session_(session) {}

  void run() {
    Terminal terminal;
    measure();
    go_home();
    auto next = Clock::now();
    draw(terminal);
    while (!done_) {
      core::honour_stop(session_.execution.stop, "stopped");
      // Each wait is short, so that the view reacts soon to a key or to a change of the window's size, even if the next
      // frame is due much later.
      constexpr Milliseconds soon{30};
      const auto left = std::chrono::duration_cast<Milliseconds>(next - Clock::now());
      const Milliseconds patience = std::clamp(paused_ ? soon : left, Milliseconds{0}, soon);
      bool changed = measure();
      if (const Key key = keyboard_.next(patience); key != Key::none) {
        obey(key);
        changed = true;
      }
      if (!paused_ && Clock::now() >= next) {
        advance();
        changed = true;
        next = Clock::now() + Milliseconds{delays[speed_]};
      }
      if (changed) draw(terminal);
    }
  }

 private:
  static constexpr std::array<int, 8> delays{1000, 500, 250, 100, 50, 25, 10, 0};
  static constexpr std::int64_t most_every = std::int64_t{1} << 40;
  static constexpr int most_zoom = 40;

  void advance() {
    const std::int64_t step = until_ > 0 ? std::min(every_, until_) : every_;
    steps_.advance(step);
    if (until_ <= 0) return;
    until_ -= step;
    if (until_ == 0) paused_ = true;
  }

  void obey(Key key) {
    const std::int64_t across = std::max<std::int64_t>(columns_ / 8, 1) << zoom_;
    const std::int64_t down = std::max<std::int64_t>(rows_ / 4, 1) << zoom_;
    help_ = false;
    switch (key) {
      case Key::pause: paused_ = !paused_; break;
      case Key::step:
        paused_ = true;
        advance();
        break;
      case Key::faster: speed_ = std::min(speed_ + 1, delays.size() - 1); break;
      case Key::slower: speed_ = speed_ == 0 ? 0 : speed_ - 1; break;
      case Key::more: every_ = std::min(every_ * 2, most_every); break;
      case Key::fewer: every_ = std::max<std::int64_t>(every_ / 2, 1); break;
      case Key::left: move(-across, 0); break;
      case Key::right: move(across, 0); break;
      case Key::up: move(0, -down); break;
      case Key::down: move(0, down); break;
      case Key::nearer: zoom_ = std::max(zoom_ - 1, 0); break;
      case Key::further: zoom_ = std::min(zoom_ + 1, most_zoom); break;
      case Key::home: go_home(); break;
      case Key::help: help_ = true; break;
      case Key::quit: done_ = true; break;
      case Key::none: break;
    }
  }

  void move(std::int64_t across, std::int64_t down) {
    constexpr std::int64_t farthest = std::int64_t{1} << 60;
    middle_x_ = std::clamp(middle_x_ + across, -farthest, farthest);
    middle_y_ = std::clamp(middle_y_ + down, -farthest, farthest);
  }

  /// Determines the size of the window. Returns true if it has changed.
  bool measure() {
    winsize size{};
    int columns = 80;
    int lines = 24;
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
      columns = size.ws_col;
      lines = size.ws_row;
    }
    const bool changed = columns != columns_ || lines != lines_;
    columns_ = columns;
    lines_ = lines;
    rows_ = std::max(lines - 1, 1) * 2;  // a character shows two cells; the last line shows the status
    return changed;
  }

  life_detail::LifeBox box() {
    if (options_.boundary != LifeBoundary::plane) return life_detail::world_box(size_.width, size_.height);
    const LifePattern& pattern = steps_.now();
    if (!pattern.tree) return {pattern.left, pattern.top, pattern.cells.width(), pattern.cells.height()};
    return life_detail::bounding_box(*pattern.tree, pattern.left, pattern.top).value_or(life_detail::LifeBox{});
  }

  /// Centres the whole pattern, and chooses the closest zoom at which it fits.
  void go_home() {
    const life_detail::LifeBox all = box();
    middle_x_ = all.left + all.width / 2;
    middle_y_ = all.top + all.height / 2;
    zoom_ = 0;
    while (zoom_ < most_zoom && (all.width >> zoom_ > columns_ || all.height >> zoom_ > rows_)) ++zoom_;
  }

  /// For each square of 2^zoom x 2^zoom cells in the window, returns whether it has a live cell.
  std::vector<char> squares_alive() {
    std::vector<char> alive(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_));
    const std::int64_t left = middle_x_ - (std::int64_t{columns_ / 2} << zoom_);
    const std::int64_t top = middle_y_ - (std::int64_t{rows_ / 2} << zoom_);
    const auto mark = [&](std::int64_t x, std::int64_t y) {
      const std::int64_t column = (x - left) >> zoom_;
      const std::int64_t row = (y - top) >> zoom_;
      if (column >= 0 && column < columns_ && row >= 0 && row < rows_)
        alive[static_cast<std::size_t>(row * columns_ + column)] = 1;
    };
    const LifePattern& pattern = steps_.now();
    if (pattern.tree) {
      mark_tree(*pattern.tree, left - pattern.left, top - pattern.top,
                [&](std::int64_t x, std::int64_t y) { mark(pattern.left + x, pattern.top + y); });
      return alive;
    }
    const LifeGridView& cells = pattern.cells;
    const std::int64_t first_row = std::max<std::int64_t>(top - pattern.top, 0);
    const std::int64_t end_row = std::min(top + (std::int64_t{rows_} << zoom_) - pattern.top, cells.height);
    const std::int64_t first_word = std::max<std::int64_t>(left - pattern.left, 0) / 64;
    const std::int64_t end_word =
        std::min((std::max<std::int64_t>(left + (std::int64_t{columns_} << zoom_) - pattern.left, 0) + 63) / 64,
                 cells.row_words());
    for (std::int64_t y = first_row; y < end_row; ++y)
      for (std::int64_t word = first_word; word < end_word; ++word)
        for (std::uint64_t rest = cells.row(y)[word]; rest != 0; rest &= rest - 1)
          mark(pattern.left + word * 64 + std::countr_zero(rest), pattern.top + y);
    return alive;
  }

  /// Marks the squares in which the tree has live cells. Every stored node has a live cell, so nodes that are not
  /// larger than a square need not be examined further.
  template <class Mark>
  void mark_tree(const LifeTree& tree, std::int64_t left, std::int64_t top, const Mark& mark) {
    struct Part {
      std::uint32_t index;
      std::int64_t x, y;
    };
    const std::int64_t right = left + (std::int64_t{columns_} << zoom_);
    const std::int64_t bottom = top + (std::int64_t{rows_} << zoom_);
    if (tree.root == 0 || tree.nodes[tree.root].level > 62) return;
    const std::int64_t half = std::int64_t{1} << (tree.nodes[tree.root].level - 1);
    std::vector<Part> parts{{tree.root, -half, -half}};
    while (!parts.empty()) {
      const Part part = parts.back();
      parts.pop_back();
      const LifeTree::Node& node = tree.nodes[part.index];
      const std::int64_t side = std::int64_t{1} << node.level;
      if (part.index == 0 || part.x >= right || part.y >= bottom || part.x + side <= left || part.y + side <= top)
        continue;
      if (node.level <= zoom_) {
        mark(part.x, part.y);
      } else if (node.level == 3) {
        for (std::uint64_t rest = node.cells; rest != 0; rest &= rest - 1)
          mark(part.x + std::countr_zero(rest) % 8, part.y + std::countr_zero(rest) / 8);
      } else {
        for (std::size_t quarter = 0; quarter < 4; ++quarter)
          parts.push_back({node.quarters[quarter], part.x + (quarter % 2 == 1 ? side / 2 : 0),
                           part.y + (quarter / 2 == 1 ? side / 2 : 0)});
      }
    }
  }

  std::string status() {
    if (help_) return " space pause  s step  +- speed  [] skip  arrows move  io zoom  f all  q quit";
    const LifePattern& pattern = steps_.now();
    std::string text = fmt::format(" {}{}  generation {}  {} alive", paused_ ? "paused  " : "",
                                   to_string(options_.rule), pattern.generation, to_string(steps_.population()));
    if (every_ > 1) text += fmt::format("  {} a frame", every_);
    if (!paused_) text += delays[speed_] > 0 ? fmt::format("  {}/s", 1000 / delays[speed_]) : "  full speed";
    if (zoom_ > 0) text += fmt::format("  1:{}", std::int64_t{1} << zoom_);
    return text + "  ? keys  q quit";
  }

  void draw(const Terminal& terminal) {
    const std::vector<char> alive = squares_alive();
    std::string frame = "\x1b[H";
    for (int row = 0; row < rows_; row += 2) {
      std::size_t blanks = 0;
      for (int column = 0; column < columns_; ++column) {
        const auto at = [&](int y) {
          return alive[static_cast<std::size_t>(y) * static_cast<std::size_t>(columns_) +
                       static_cast<std::size_t>(column)] != 0;
        };
        const bool upper = at(row);
        const bool lower = at(row + 1);
        if (!upper && !lower) {
          ++blanks;
          continue;
        }
        frame.append(std::exchange(blanks, 0), ' ');
        frame += upper && lower ? "█" : upper ? "▀" : "▄";
      }
      frame += "\x1b[K\r\n";  // clears the rest of the line
    }
    std::string line = status();
    line.resize(std::min(line.size(), static_cast<std::size_t>(std::max(columns_ - 1, 0))));
    frame += "\x1b[7m" + line + "\x1b[0m\x1b[K";
    terminal.write(frame);
  }

  LifeSteps& steps_;
  const LifeOptions& options_;
  LifeSize size_;
  std::int64_t every_;
  std::int64_t until_;  ///< generations until the requested pause; 0 or less: no pause is pending
  bool paused_;
  Session& session_;
  Keyboard keyboard_;
  std::size_t speed_ = 4;
  bool help_ = false;
  bool done_ = false;
  int zoom_ = 0;  ///< a square of the window has 2^zoom cells per side
  std::int64_t middle_x_ = 0;
  std::int64_t middle_y_ = 0;
  int columns_ = 0;
  int lines_ = 0;
  int rows_ = 0;
};

}  // namespace

void require_terminal(const std::string& input) {
  constexpr std::string_view instead = "; 'gradus life PATTERN -g 100 -o film.gif' makes an animation instead";
  if (input == "-")
    throw UsageError("--view: the keys are read from standard input, and the pattern cannot be; name its file" +
                     std::string(instead));
  const char* const kind = std::getenv("TERM");
  if (!::isatty(STDIN_FILENO) || !::isatty(STDOUT_FILENO) || (kind && std::string_view(kind) == "dumb"))
    throw UsageError("--view needs a terminal, for what it shows and for the keys" + std::string(instead));
}

int view_life(LifeSteps& steps, const LifeOptions& options, const LifeSize& size, std::int64_t every,
              std::int64_t until, Session& session) {
  View(steps, options, size, every, until, session).run();
  return 0;
}

}  // namespace gradus::cli
