#include "generator/base/writer.hpp"

namespace kgen {

void Writer::raw_line(std::string_view content) {
  if (!content.empty()) text_.append(static_cast<std::size_t>(depth_ * indent_width_), ' ');
  text_ += content;
  text_ += '\n';
}

Writer::Scope::~Scope() {
  --writer_.depth_;
  writer_.raw_line(close_);
}

Writer::Scope Writer::scope(std::string_view open, std::string close) {
  raw_line(open);
  return Scope(*this, std::move(close));
}

}  // namespace kgen
