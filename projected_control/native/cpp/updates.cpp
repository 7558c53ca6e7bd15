// Reading and writing messages: nothing is believed before all of a message was looked at.

#include "updates.h"

#include <array>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace projected_control {
namespace {

struct Header {
  uint64_t magic;
  uint32_t version, kind;
  uint64_t digest, session, sequence, size;
  uint32_t sections, checksum;
  int64_t status;
};
static_assert(sizeof(Header) == PROJECTED_CONTROL_HEADER_BYTES, "the header has no gaps");

struct SectionHeader {
  uint32_t id, type;
  uint64_t count;
};

constexpr size_t word = 8;
constexpr size_t section_numbers = 128;  // those that a message may have are smaller

const Section missing;

std::array<uint32_t, 256> checksum_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xEDB88320u ^ (value >> 1) : value >> 1;
    table[i] = value;
  }
  return table;
}

size_t element_bytes(uint32_t type) {
  return type == PROJECTED_CONTROL_TYPE_BYTES ? 1 : word;
}

size_t padded(size_t bytes) { return (bytes + word - 1) / word * word; }

}  // namespace

Verdict refused(int64_t status, const char *format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return {status, text};
}

uint32_t checksum(const uint8_t *bytes, size_t size) {
  static const std::array<uint32_t, 256> table = checksum_table();
  uint32_t value = 0xFFFFFFFFu;
  for (size_t i = 0; i < size; ++i) value = table[(value ^ bytes[i]) & 0xFF] ^ (value >> 8);
  return ~value;
}

Verdict Message::read(const uint8_t *bytes, size_t size) {
  constexpr int64_t malformed = PROJECTED_CONTROL_STATUS_MALFORMED;
  sections_.assign(section_numbers, Section{});
  if (size < sizeof(Header) || size % word != 0 || size > PROJECTED_CONTROL_LARGEST_BYTES)
    return refused(malformed, "%zu bytes are no message", size);
  words_.resize(size / word);
  std::memcpy(words_.data(), bytes, size);
  auto *const copy = reinterpret_cast<uint8_t *>(words_.data());
  Header header;
  std::memcpy(&header, copy, sizeof header);
  if (header.magic != PROJECTED_CONTROL_UPDATES_MAGIC)
    return refused(malformed, "the message does not begin as ours do");
  kind = header.kind;
  session = header.session;
  sequence = header.sequence;
  if (header.version != PROJECTED_CONTROL_UPDATES_VERSION)
    return refused(
        PROJECTED_CONTROL_STATUS_VERSION, "the message is of version %u, the plugin knows %u",
        header.version, static_cast<unsigned>(PROJECTED_CONTROL_UPDATES_VERSION));
  if (header.size != size - sizeof header)
    return refused(
        malformed, "the message says it has %" PRIu64 " bytes after its header, and has %zu",
        header.size, size - sizeof header);
  const uint32_t expected = check = header.checksum;
  header.checksum = 0;
  std::memcpy(copy, &header, sizeof header);
  if (checksum(copy, size) != expected)
    return refused(malformed, "the message was changed on its way: its checksum is wrong");
  if (header.digest != PROJECTED_CONTROL_UPDATES_DIGEST)
    return refused(
        PROJECTED_CONTROL_STATUS_DIGEST,
        "the sender was made from other sources (%016" PRIx64 ") than the plugin (%016" PRIx64
        "): build the plugin again",
        header.digest, static_cast<uint64_t>(PROJECTED_CONTROL_UPDATES_DIGEST));
  size_t at = sizeof header;
  int64_t last = -1;
  for (uint32_t i = 0; i < header.sections; ++i) {
    SectionHeader s;
    if (size - at < sizeof s) return refused(malformed, "the message ends within a section");
    std::memcpy(&s, copy + at, sizeof s);
    at += sizeof s;
    const int64_t type = projected_control_section_type(s.id);
    if (type < 0 || s.id >= section_numbers)
      return refused(malformed, "section %u is not known", s.id);
    if (static_cast<int64_t>(s.id) <= last)
      return refused(malformed, "section %u does not follow section %" PRId64, s.id, last);
    if (static_cast<int64_t>(s.type) != type)
      return refused(malformed, "section %u is of type %u", s.id, s.type);
    last = s.id;
    if (s.count > (size - at) / element_bytes(s.type))
      return refused(malformed, "section %u ends beyond the message", s.id);
    const size_t taken = padded(s.count * element_bytes(s.type));
    if (taken > size - at) return refused(malformed, "section %u is not padded", s.id);
    sections_[s.id] = {true, s.type, static_cast<int64_t>(s.count), copy + at};
    at += taken;
  }
  if (at != size) return refused(malformed, "%zu bytes belong to no section", size - at);
  return {};
}

const Section &Message::section(uint32_t id) const {
  return id < sections_.size() ? sections_[id] : missing;
}

Verdict Message::expect(uint32_t id, int64_t count) const {
  const Section &s = section(id);
  if (!s.there) return refused(PROJECTED_CONTROL_STATUS_SIZE, "section %u is missing", id);
  if (s.count != count)
    return refused(
        PROJECTED_CONTROL_STATUS_SIZE, "section %u has %" PRId64 " elements, expected were %" PRId64,
        id, s.count, count);
  return {};
}

Writer::Writer(uint32_t kind, uint64_t session, uint64_t sequence, int64_t status) {
  Header header{};
  header.magic = PROJECTED_CONTROL_UPDATES_MAGIC;
  header.version = PROJECTED_CONTROL_UPDATES_VERSION;
  header.kind = kind;
  header.digest = PROJECTED_CONTROL_UPDATES_DIGEST;
  header.session = session;
  header.sequence = sequence;
  header.status = status;
  bytes_.resize(sizeof header);
  std::memcpy(bytes_.data(), &header, sizeof header);
}

void Writer::reals(uint32_t id, const double *data, int64_t count) {
  section(id, PROJECTED_CONTROL_TYPE_DOUBLE, count, data, static_cast<size_t>(count) * word);
}

void Writer::wholes(uint32_t id, const int64_t *data, int64_t count) {
  section(id, PROJECTED_CONTROL_TYPE_INTEGER, count, data, static_cast<size_t>(count) * word);
}

void Writer::text(uint32_t id, const std::string &text) {
  section(
      id, PROJECTED_CONTROL_TYPE_BYTES, static_cast<int64_t>(text.size()), text.data(), text.size());
}

void Writer::section(uint32_t id, uint32_t type, int64_t count, const void *data, size_t bytes) {
  const SectionHeader s{id, type, static_cast<uint64_t>(count)};
  const size_t at = bytes_.size();
  bytes_.resize(at + sizeof s + padded(bytes), 0);
  std::memcpy(bytes_.data() + at, &s, sizeof s);
  if (bytes) std::memcpy(bytes_.data() + at + sizeof s, data, bytes);
  ++sections_;
}

const std::vector<uint8_t> &Writer::finish() {
  Header header;
  std::memcpy(&header, bytes_.data(), sizeof header);
  header.size = bytes_.size() - sizeof header;
  header.sections = sections_;
  header.checksum = 0;
  std::memcpy(bytes_.data(), &header, sizeof header);
  header.checksum = checksum(bytes_.data(), bytes_.size());
  std::memcpy(bytes_.data(), &header, sizeof header);
  return bytes_;
}

}  // namespace projected_control
