// Devices that say they are CUDA, keep their memory in the host's, and compute with the CPU's kernels.
//
// What a real GPU refuses is refused here: tensors of two devices in one call, generators of the other
// device, waiting while a graph is recorded, more memory than it has, and everything once it is dead. What makes the
// host wait for a real GPU is counted, and so are the bytes of all tensors.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/copy.h>
#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <array>
#include <atomic>
#include <climits>
#include <deque>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace {

using at::Tensor;
std::atomic<long> waits{0};

struct Card {
  std::atomic<size_t> held{0}, most_held{0}, memory{SIZE_MAX};
  std::atomic<long> left{LONG_MAX};  // operations until it dies
  std::string obituary;  // a file that is made then, and that keeps it alive where it is there already
  std::atomic<bool> dead{false};
};
std::array<Card, 8> cards;
std::atomic<int> count{1};
thread_local c10::DeviceIndex current = 0;

c10::Device card_at(c10::DeviceIndex at) {
  return {c10::DeviceType::CUDA, at < 0 ? current : at};
}
c10::Device here() { return card_at(current); }

// As a real one: what was asked first fails, and then all that this process asks of it.
void use(c10::Device card) {
  TORCH_CHECK(card.index() < count, "CUDA error: invalid device ordinal");
  auto& found = cards[card.index()];
  if (!found.dead && --found.left < 0) {
    const bool has_died = std::ifstream{found.obituary}.good();
    if (has_died) found.left = LONG_MAX;
    else std::ofstream{found.obituary};
    found.dead = !has_died;
  }
  if (found.dead) {
    throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 719, "CUDA error: unspecified launch failure");
  }
}

// Memory of the host that a tensor of a device has.
struct Held {
  c10::Storage storage;
  size_t bytes;
  Card& card;
  Held(const c10::Storage& storage, c10::Device place)
      : storage(storage), bytes(storage.nbytes()), card(cards[place.index()]) {
    const size_t now = card.held += bytes;
    if (now > card.memory) {
      card.held -= bytes;
      TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", bytes, " bytes.");
    }
    if (now > card.most_held) card.most_held = now;
  }
  ~Held() { card.held -= bytes; }
  static c10::DataPtr of(const c10::Storage& storage, c10::Device place) {
    auto* kept = new Held(storage, place);
    return {storage.mutable_data(), kept, [](void* p) { delete static_cast<Held*>(p); }, place};
  }
};

struct Guard final : public c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = c10::DeviceType::CUDA;
  c10::DeviceType type() const override { return static_type; }
  c10::Device exchangeDevice(c10::Device next) const override {
    const auto before = here();
    setDevice(next);
    return before;
  }
  c10::Device getDevice() const override { return here(); }
  void setDevice(c10::Device next) const override {
    TORCH_CHECK(next.index() < count, "CUDA error: invalid device ordinal");
    uncheckedSetDevice(next);
  }
  void uncheckedSetDevice(c10::Device next) const noexcept override {
    if (next.index() >= 0) current = next.index();
  }
  c10::Stream getStream(c10::Device of) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, card_at(of.index()));
  }
  c10::Stream getDefaultStream(c10::Device of) const override { return getStream(of); }
  c10::Stream exchangeStream(c10::Stream s) const noexcept override { return s; }
  c10::DeviceIndex deviceCount() const noexcept override { return static_cast<c10::DeviceIndex>(count.load()); }
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void*, const c10::DeviceIndex) const noexcept override {}
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}
};

struct Numbers final : public c10::GeneratorImpl {
  at::Generator host;
  Numbers(at::Generator host, c10::Device place)
      : c10::GeneratorImpl(place, c10::DispatchKeySet(c10::DispatchKey::CUDA)), host(std::move(host)) {}
  static at::Generator of(c10::DeviceIndex at) {
    return at::make_generator<Numbers>(at::detail::createCPUGenerator(), card_at(at));
  }
  void set_current_seed(uint64_t seed) override { host.set_current_seed(seed); }
  void set_offset(uint64_t offset) override { host.set_offset(offset); }
  uint64_t get_offset() const override { return host.get_offset(); }
  uint64_t current_seed() const override { return host.current_seed(); }
  uint64_t seed() override { return host.seed(); }
  void set_state(const c10::TensorImpl& state) override { host.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return host.unsafeGetGeneratorImpl()->get_state(); }
  c10::GeneratorImpl* clone_impl() const override { return new Numbers(host.clone(), device()); }
};

struct CUDAHooks final : public at::CUDAHooksInterface {
  CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return count > 0; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex current_device() const override { return current; }
  int getNumGPUs() const override { return count; }
  c10::DeviceIndex deviceCount() const override { return static_cast<c10::DeviceIndex>(count.load()); }
  c10::Device getDeviceFromPtr(void*) const override { return here(); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return c10::GetCPUAllocator(); }
  at::Generator getNewGenerator(c10::DeviceIndex at) const override { return Numbers::of(at); }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex at) const override {
    static std::array<at::Generator, std::tuple_size<decltype(cards)>::value> numbers;
    auto& found = numbers[card_at(at).index()];
    if (!found.defined()) found = Numbers::of(at);
    return found;
  }
};

// The same memory as a tensor of the other device, for one call.
struct Crossing {
  std::unordered_map<c10::StorageImpl*, c10::Storage> device_of;  // by the host's
  std::unordered_map<c10::StorageImpl*, c10::Storage> host_of;    // by the device's
  std::unordered_map<c10::StorageImpl*, c10::DispatchKeySet> keys_of;  // of what a view would look at, by the host's
  c10::Device place = here();  // of what is made

  Tensor host(const Tensor& t) {
    if (!t.defined() || !t.is_cuda()) return t;
    auto storage = t.storage();
    auto& there = host_of[storage.unsafeGetStorageImpl()];
    if (!there) {
      auto nbytes = storage.nbytes();
      there = c10::Storage(c10::make_intrusive<c10::StorageImpl>(
          c10::StorageImpl::use_byte_size_t(), nbytes,
          c10::DataPtr(storage.mutable_data(), c10::Device(c10::kCPU)), c10::GetCPUAllocator(), true));
      device_of[there.unsafeGetStorageImpl()] = storage;
      keys_of[there.unsafeGetStorageImpl()] = t.key_set();
    }
    auto out = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(there), c10::DispatchKeySet(c10::DispatchKey::CPU), t.dtype());
    out.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
    if (t.is_conj()) out._set_conj(true);
    if (t.is_neg()) out._set_neg(true);
    if (t.unsafeGetTensorImpl()->is_wrapped_number()) out.unsafeGetTensorImpl()->set_wrapped_number(true);
    return out;
  }

  Tensor device(const Tensor& t) {
    if (!t.defined() || t.is_cuda()) return t;
    auto storage = t.storage();
    auto& there = device_of[storage.unsafeGetStorageImpl()];
    if (!there) {
      there = c10::Storage(c10::make_intrusive<c10::StorageImpl>(
          c10::StorageImpl::use_byte_size_t(), storage.nbytes(), Held::of(storage, place), nullptr, false));
      host_of[there.unsafeGetStorageImpl()] = storage;
    }
    auto viewed = keys_of.find(storage.unsafeGetStorageImpl());
    auto out = viewed == keys_of.end()
        ? at::detail::make_tensor<c10::TensorImpl>(
              c10::Storage(there), c10::DispatchKeySet(c10::DispatchKey::CUDA), t.dtype())
        : at::detail::make_tensor<c10::TensorImpl>(
              c10::TensorImpl::VIEW, c10::Storage(there), viewed->second, t.dtype());
    out.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
    if (t.is_conj()) out._set_conj(true);
    if (t.is_neg()) out._set_neg(true);
    return out;
  }
};

// What is done while a graph is recorded, on the host's view of the memory, to be done again.
struct Done {
  c10::OperatorHandle op;
  std::vector<c10::IValue> arguments, results, kept;
};
std::deque<std::vector<Done>> graphs;
std::vector<Done>* recording = nullptr;

void write_over(const c10::IValue& old, const c10::IValue& fresh) {
  if (old.isTensor() && old.toTensor().defined()) {
    auto to = old.toTensor();
    auto from = fresh.toTensor();
    if (to.data_ptr() != from.data_ptr()) to.copy_(from);
  } else if (old.isTensorList()) {
    auto to = old.toTensorVector(), from = fresh.toTensorVector();
    for (size_t at = 0; at < to.size(); ++at)
      if (to[at].data_ptr() != from[at].data_ptr()) to[at].copy_(from[at]);
  }
}

// Index tensors may lie on the host; what copies between devices has its own kernel.
bool may_mix(const std::string& name) {
  static const std::set<std::string> names{
      "aten::index.Tensor", "aten::index_put_", "aten::index_put", "aten::_index_put_impl_", "aten::index.Tensor_out",
      "aten::_foreach_copy_"};
  return names.count(name);
}
bool waits_for_device(const std::string& name) {
  static const std::set<std::string> names{
      "aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::equal", "aten::unique_dim",
      "aten::_unique2", "aten::unique_consecutive", "aten::repeat_interleave.Tensor"};
  return names.count(name);
}

void on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const auto count = schema.arguments().size();
  const auto begin = stack->size() - count;
  std::string name = schema.name() + (schema.overload_name().empty() ? "" : "." + schema.overload_name());
  Crossing crossing;
  std::vector<std::pair<Tensor, Tensor>> written;  // the device's, the host's
  std::optional<c10::Device> here, other, asked;  // where its tensors lie, and where its results are to
  bool there = false;
  auto on = [&](c10::Device place) {
    if (!here) here = place;
    else if (*here != place) other = place;
  };
  auto cross = [&](const Tensor& t, bool writes) {
    if (!t.defined()) return t;
    if (t.is_cuda()) on(t.device());
    else if (t.dim() > 0 && t.device().is_cpu()) there = true;
    auto host = crossing.host(t);
    if (writes && t.is_cuda()) written.emplace_back(t, host);
    return host;
  };
  std::vector<c10::IValue> before(stack->begin() + begin, stack->end());
  for (size_t at = 0; at < count; ++at) {
    auto& value = (*stack)[begin + at];
    const auto* alias = schema.arguments()[at].alias_info();
    const bool writes = alias && alias->isWrite();
    if (value.isTensor()) {
      value = cross(value.toTensor(), writes);
    } else if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& t : value.toTensorVector()) list.push_back(cross(t, writes));
      value = list;
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<Tensor>> list;
      for (const auto& t : value.toOptionalTensorList().vec())
        list.push_back(t.has_value() ? std::optional<Tensor>(cross(*t, writes)) : std::nullopt);
      value = list;
    } else if (value.isDevice()) {
      if (value.toDevice().is_cuda()) {
        asked = card_at(value.toDevice().index());
        value = c10::Device(c10::kCPU);
      }
    } else if (value.isGenerator() && value.toGenerator().defined()) {
      auto generator = value.toGenerator();
      TORCH_CHECK(generator.device().is_cuda(), "Expected a 'cuda' device type for generator but found 'cpu' (", name, ")");
      value = static_cast<Numbers*>(generator.unsafeGetGeneratorImpl())->host;
    }
  }
  TORCH_CHECK(!((here || asked) && there) || may_mix(name),
      "Expected all tensors to be on the same device, but found at least two devices, cuda and cpu! (", name, ")");
  TORCH_CHECK(!other || may_mix(name), "Expected all tensors to be on the same device, but found at least two devices, ",
      *here, " and ", *other, "! (", name, ")");
  crossing.place = asked ? *asked : here ? *here : crossing.place;
  use(crossing.place);
  if (waits_for_device(name)) {
    ++waits;
    TORCH_CHECK(!recording, "CUDA error: operation not permitted when stream is capturing (", name, ")");
  }
  std::vector<c10::IValue> crossed;
  if (recording) crossed.assign(stack->begin() + begin, stack->end());
  op.callBoxed(stack);
  if (recording) {
    const auto count = schema.returns().size();
    recording->push_back({op, crossed, {stack->end() - count, stack->end()}, before});
  }
  for (auto& [device, host] : written) {
    auto* impl = device.unsafeGetTensorImpl();
    auto* memory = device.storage().unsafeGetStorageImpl();
    if (host.storage().data() != memory->data()) {  // an operation made an empty result larger
      memory->set_data_ptr(Held::of(host.storage(), device.device()));
      memory->set_nbytes(host.storage().nbytes());
    }
    if (crossing.device_of.count(host.storage().unsafeGetStorageImpl()) &&
        (device.sizes() != host.sizes() || device.strides() != host.strides() ||
         device.storage_offset() != host.storage_offset()))
      impl->set_sizes_and_strides(host.sizes(), host.strides(), host.storage_offset());
  }
  auto back = [&](const Tensor& t) {
    for (auto& [device, host] : written)
      if (t.defined() && t.is_same(host)) return device;
    return crossing.device(t);
  };
  const auto returned = schema.returns().size();
  for (size_t at = stack->size() - returned; at < stack->size(); ++at) {
    auto& value = (*stack)[at];
    if (value.isTensor()) {
      value = back(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& t : value.toTensorVector()) list.push_back(back(t));
      value = list;
    }
  }
}

Tensor& copy_(Tensor& self, const Tensor& from, bool non_blocking) {
  Crossing crossing;
  for (const Tensor& one : {self, from})
    if (one.is_cuda()) use(one.device());
  if (!self.is_cuda() && !non_blocking) {
    ++waits;
    TORCH_CHECK(!recording, "CUDA error: operation not permitted when stream is capturing (copy to the host)");
  }
  TORCH_CHECK(!recording || from.is_cuda() || from.dim() == 0,
      "CUDA error: operation not permitted when stream is capturing (copy from pageable memory)");
  auto there = crossing.host(self);
  auto here = crossing.host(from);
  there.copy_(here);
  if (recording) {
    static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::copy_", "");
    recording->push_back({op, {there, here, false}, {there}, {self, from}});
  }
  return self;
}

const Tensor& resize_(const Tensor& self, c10::IntArrayRef size, std::optional<at::MemoryFormat>) {
  auto* impl = self.unsafeGetTensorImpl();
  int64_t numel = 1;
  for (auto n : size) numel *= n;
  auto needed = (numel + self.storage_offset()) * self.itemsize();
  if (static_cast<size_t>(needed) > self.storage().nbytes()) {
    Crossing crossing;
    crossing.place = self.device();
    auto fresh = crossing.device(at::empty({numel + self.storage_offset()}, self.options().device(c10::kCPU)));
    impl->set_storage_keep_dtype(fresh.storage());
  }
  impl->set_sizes_contiguous(size);
  return self;
}

Tensor& set_(Tensor& self, at::Storage source, int64_t offset, c10::IntArrayRef size, c10::IntArrayRef stride) {
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(source);
  std::vector<int64_t> strides(stride.begin(), stride.end());
  if (strides.empty() && !size.empty()) {
    strides.resize(size.size());
    int64_t step = 1;
    for (size_t at = size.size(); at-- > 0;) { strides[at] = step; step *= size[at]; }
  }
  impl->set_sizes_and_strides(size, strides, offset);
  return self;
}
Tensor& set_whole(Tensor& self, at::Storage source) {
  const auto count = static_cast<int64_t>(source.nbytes() / self.itemsize());
  return set_(self, source, 0, {count}, {1});
}
Tensor& set_tensor(Tensor& self, const Tensor& source) {
  return set_(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

}  // namespace

namespace at { REGISTER_CUDA_HOOKS(CUDAHooks); }
C10_REGISTER_GUARD_IMPL(CUDA, Guard)

struct HostMemory final : c10::Allocator {
  c10::DataPtr allocate(size_t n) override {
    void* data = n ? c10::GetCPUAllocator()->raw_allocate(n) : nullptr;
    return {data, data, [](void* p) { if (p) c10::GetCPUAllocator()->raw_deallocate(p); }, here()};
  }
  c10::DeleterFnPtr raw_deleter() const override { return [](void* p) { c10::GetCPUAllocator()->raw_deallocate(p); }; }
  void copy_data(void* to, const void* from, std::size_t n) const override { default_copy_data(to, from, n); }
};
static HostMemory memory;
static bool registered = (c10::SetAllocator(c10::DeviceType::CUDA, &memory, 10), true);

TORCH_LIBRARY_IMPL(_, CUDA, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_host>()); }
TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("copy_", TORCH_FN(copy_));
  m.impl("resize_", TORCH_FN(resize_));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_));
  m.impl("set_.source_Storage", TORCH_FN(set_whole));
  m.impl("set_.source_Tensor", TORCH_FN(set_tensor));
}

extern "C" {
long pretended_waits() { return waits.load(); }
void pretended_forget(long some) { waits -= some; }
size_t pretended_held(int card) { return cards[card].held; }
size_t pretended_most_held(int card) { return cards[card].most_held; }
void pretended_forget_most(int card) { cards[card].most_held = cards[card].held.load(); }
void pretended_memory(int card, size_t bytes) { cards[card].memory = bytes; }
void pretended_count(int cards_there) { count = cards_there; }
void pretended_dies(int card, long operations, const char* obituary) {
  cards[card].left = operations;
  cards[card].obituary = obituary;
}
bool pretended_is_dead(int card) { return cards[card].dead; }
int pretended_current() { return current; }
void pretended_set_current(int card) { current = static_cast<c10::DeviceIndex>(card); }
long pretended_record() {
  graphs.emplace_back();
  recording = &graphs.back();
  return static_cast<long>(graphs.size()) - 1;
}
void pretended_recorded() { recording = nullptr; }
void pretended_replay(long number) {
  c10::InferenceMode guard;
  for (auto& done : graphs[number]) {
    torch::jit::Stack stack(done.arguments);
    done.op.callBoxed(&stack);
    for (size_t at = 0; at < done.results.size(); ++at) write_over(done.results[at], stack[at]);
  }
}
}
