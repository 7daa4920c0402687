#include "generator/base/writer.hpp"

namespace kgen {

void Writer::raw_line(std::string_view content) {
  if (!content.empty()) text_.append(static_cast<std::size_t>(depth_ * indent_width_), ' ');
  text_ += content;
  text_ += '\n';
}

Writer::Block::~Block() {
  --writer_.depth_;
  writer_.raw_line(close_);
}

Writer::Block Writer::block(std::string_view open, std::string close) {
  raw_line(open);
  return Block(*this, std::move(close));
}

}  // namespace kgen
