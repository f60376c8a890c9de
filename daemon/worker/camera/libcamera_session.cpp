/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See libcamera_session.h. Requests complete on libcamera's thread, which hands them over by a
 * queue. The failure modes are no such camera, one that another process has, a format or size that
 * it lacks, and no memory for its buffers.
 */
#include "daemon/worker/camera/libcamera_session.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <libcamera/libcamera.h>
#include <linux/dma-buf.h>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <vector>

using namespace libcamera;

namespace
{

/* libcamera has one manager a process. */
std::mutex manager_lock;
std::weak_ptr<CameraManager> manager_shared;

std::shared_ptr<CameraManager> manager_get()
{
    std::lock_guard<std::mutex> hold(manager_lock);
    std::shared_ptr<CameraManager> manager = manager_shared.lock();
    if (manager)
        return manager;
    manager = std::make_shared<CameraManager>();
    if (manager->start() < 0)
        return nullptr;
    manager_shared = manager;
    return manager;
}

struct Mapping {
    uint8_t *memory;
    size_t size;
};

} // namespace

struct libcamera_session {
    std::shared_ptr<CameraManager> manager;
    std::shared_ptr<Camera> camera;
    std::unique_ptr<CameraConfiguration> config;
    std::unique_ptr<FrameBufferAllocator> allocator;
    std::vector<std::unique_ptr<Request>> requests;
    std::map<int, Mapping> mappings; /* by descriptor */
    std::mutex lock;
    std::condition_variable news;
    std::deque<Request *> done;
    bool acquired = false, started = false, gone = false, manual = false;
    double time_us = 0, gain = 0;

    void completed(Request *request)
    {
        std::lock_guard<std::mutex> hold(lock);
        done.push_back(request);
        news.notify_one();
    }
    void disconnected()
    {
        std::lock_guard<std::mutex> hold(lock);
        gone = true;
        news.notify_one();
    }
};

namespace
{

std::string model_of(const std::shared_ptr<Camera> &camera)
{
    return camera->properties().get(properties::Model).value_or("");
}

int camera_find(libcamera_session *s, const char *name, char *why)
{
    std::string list;
    unsigned number = 0;
    for (const std::shared_ptr<Camera> &camera : s->manager->cameras()) {
        if (camera->id() == name || model_of(camera) == name || std::to_string(number) == name)
            s->camera = camera;
        list += (list.empty() ? "" : ", ") + camera->id();
        number++;
    }
    if (s->camera)
        return 0;
    snprintf(why, LIBCAMERA_WHY, "libcamera knows no camera of this name; there is %.90s",
             list.empty() ? "none" : list.c_str());
    return LIBCAMERA_NO_CAMERA;
}

/* The first of the wished formats that the stream has. */
int format_choose(const StreamConfiguration &stream, const libcamera_wish *wish, uint32_t *out,
                  char *why)
{
    const std::vector<PixelFormat> has = stream.formats().pixelformats();
    std::string list;
    for (uint32_t i = 0; i < wish->n_formats; i++) {
        PixelFormat wanted = PixelFormat::fromString(wish->formats[i]);
        if (wanted.isValid() && std::find(has.begin(), has.end(), wanted) != has.end()) {
            *out = i;
            return 0;
        }
    }
    for (const PixelFormat &format : has)
        list += (list.empty() ? "" : ", ") + format.toString();
    snprintf(why, LIBCAMERA_WHY, "no %.20s; the camera has %.100s",
             wish->n_formats == 1 ? wish->formats[0] : "format that can be read",
             list.empty() ? "none" : list.c_str());
    return LIBCAMERA_NO_FORMAT;
}

int stream_configure(libcamera_session *s, const libcamera_wish *wish, libcamera_shape *shape,
                     char *why)
{
    s->config = s->camera->generateConfiguration(
        {wish->raw ? StreamRole::Raw : StreamRole::VideoRecording});
    if (!s->config || s->config->empty()) {
        snprintf(why, LIBCAMERA_WHY, "the camera gives no %s",
                 wish->raw ? "raw samples" : "pictures");
        return LIBCAMERA_NO_FORMAT;
    }
    StreamConfiguration &stream = s->config->at(0);
    int rc = format_choose(stream, wish, &shape->format, why);
    if (rc < 0)
        return rc;
    const PixelFormat wanted = PixelFormat::fromString(wish->formats[shape->format]);
    stream.pixelFormat = wanted;
    if (wish->width && wish->height)
        stream.size = Size(wish->width, wish->height);
    const Size size = stream.size;
    bool valid = s->config->validate() != CameraConfiguration::Invalid;
    if (!valid || stream.pixelFormat != wanted || (wish->width && stream.size != size)) {
        snprintf(why, LIBCAMERA_WHY, "asked for %s in %s, the camera gives %.60s",
                 size.toString().c_str(), wanted.toString().c_str(), stream.toString().c_str());
        return LIBCAMERA_NO_FORMAT;
    }
    if (s->camera->configure(s->config.get()) == 0)
        return 0;
    snprintf(why, LIBCAMERA_WHY, "libcamera cannot configure %.60s", stream.toString().c_str());
    return LIBCAMERA_FAILED;
}

void shape_read(libcamera_session *s, libcamera_shape *shape)
{
    const StreamConfiguration &stream = s->config->at(0);
    const ControlInfoMap &controls = s->camera->controls();
    shape->width = stream.size.width;
    shape->height = stream.size.height;
    shape->stride = stream.stride;
    if (stream.colorSpace) {
        shape->full_range = stream.colorSpace->range == ColorSpace::Range::Full;
        shape->bt709 = stream.colorSpace->ycbcrEncoding == ColorSpace::YcbcrEncoding::Rec709;
    }
    auto time = controls.find(&controls::ExposureTime),
         gain = controls.find(&controls::AnalogueGain);
    shape->has_time = time != controls.end();
    shape->has_gain = gain != controls.end();
    if (shape->has_time) {
        shape->time_min = time->second.min().get<int32_t>();
        shape->time_max = time->second.max().get<int32_t>();
    }
    if (shape->has_gain) {
        shape->gain_min = static_cast<double>(gain->second.min().get<float>());
        shape->gain_max = static_cast<double>(gain->second.max().get<float>());
    }
}

bool buffer_map(libcamera_session *s, const FrameBuffer *buffer)
{
    std::map<int, size_t> sizes;
    for (const FrameBuffer::Plane &plane : buffer->planes())
        sizes[plane.fd.get()] =
            std::max(sizes[plane.fd.get()], static_cast<size_t>(plane.offset) + plane.length);
    for (const auto &[fd, size] : sizes) {
        if (s->mappings.count(fd))
            continue;
        void *memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED)
            return false;
        s->mappings[fd] = {static_cast<uint8_t *>(memory), size};
    }
    return true;
}

bool buffers_make(libcamera_session *s)
{
    Stream *stream = s->config->at(0).stream();
    s->allocator = std::make_unique<FrameBufferAllocator>(s->camera);
    if (s->allocator->allocate(stream) < 0)
        return false;
    for (const std::unique_ptr<FrameBuffer> &buffer : s->allocator->buffers(stream)) {
        std::unique_ptr<Request> request = s->camera->createRequest();
        if (!request || request->addBuffer(stream, buffer.get()) < 0 ||
            !buffer_map(s, buffer.get()))
            return false;
        s->requests.push_back(std::move(request));
    }
    return !s->requests.empty();
}

int stream_start(libcamera_session *s, double fps, char *why)
{
    ControlList first(controls::controls);
    int64_t frame_us = static_cast<int64_t>(1e6 / fps);
    if (s->camera->controls().count(&controls::FrameDurationLimits))
        first.set(controls::FrameDurationLimits, Span<const int64_t, 2>({frame_us, frame_us}));
    s->camera->requestCompleted.connect(s, &libcamera_session::completed);
    s->camera->disconnected.connect(s, &libcamera_session::disconnected);
    s->started = buffers_make(s) && s->camera->start(&first) == 0;
    bool good = s->started;
    for (const std::unique_ptr<Request> &request : s->requests)
        good = good && s->camera->queueRequest(request.get()) == 0;
    if (good)
        return 0;
    snprintf(why, LIBCAMERA_WHY, "%s",
             s->started ? "libcamera takes no requests"
                        : "libcamera cannot start it, or has no memory");
    return LIBCAMERA_FAILED;
}

int session_open(libcamera_session *s, const libcamera_wish *wish, libcamera_shape *shape,
                 char *why)
{
    s->manager = manager_get();
    if (!s->manager) {
        snprintf(why, LIBCAMERA_WHY, "libcamera cannot be started");
        return LIBCAMERA_FAILED;
    }
    int rc = camera_find(s, wish->name, why);
    if (rc < 0)
        return rc;
    if (s->camera->acquire() < 0) {
        snprintf(why, LIBCAMERA_WHY, "the camera is busy, held by another program");
        return LIBCAMERA_BUSY;
    }
    s->acquired = true;
    rc = stream_configure(s, wish, shape, why);
    if (rc < 0)
        return rc;
    shape_read(s, shape);
    return stream_start(s, wish->fps, why);
}

/* So that the CPU reads what the device has written. */
void buffer_sync(const FrameBuffer *buffer, uint64_t begin_or_end)
{
    dma_buf_sync sync = {};
    sync.flags = DMA_BUF_SYNC_READ | begin_or_end;
    for (const FrameBuffer::Plane &plane : buffer->planes())
        ioctl(plane.fd.get(), DMA_BUF_IOCTL_SYNC, &sync); /* other memory has no such call */
}

FrameBuffer *buffer_of(const Request *request)
{
    return request->buffers().begin()->second;
}

void frame_read(libcamera_session *s, Request *request, libcamera_frame *out)
{
    const FrameBuffer *buffer = buffer_of(request);
    const FrameMetadata &meta = buffer->metadata();
    *out = {};
    out->request = request;
    out->sequence = meta.sequence;
    out->captured_ns = static_cast<int64_t>(meta.timestamp);
    out->time_us = request->metadata().get(controls::ExposureTime).value_or(0);
    out->gain = static_cast<double>(request->metadata().get(controls::AnalogueGain).value_or(0.0f));
    buffer_sync(buffer, DMA_BUF_SYNC_START);
    for (const FrameBuffer::Plane &plane : buffer->planes()) {
        if (out->planes == LIBCAMERA_PLANES)
            break;
        out->data[out->planes] = s->mappings[plane.fd.get()].memory + plane.offset;
        out->size[out->planes++] = plane.length;
    }
}

} // namespace

int libcamera_open(const struct libcamera_wish *wish, struct libcamera_session **out,
                   struct libcamera_shape *shape, char why[LIBCAMERA_WHY])
{
    libcamera_session *s = new (std::nothrow) libcamera_session;
    if (!s) {
        snprintf(why, LIBCAMERA_WHY, "out of memory");
        return LIBCAMERA_FAILED;
    }
    *shape = {};
    int rc = session_open(s, wish, shape, why);
    if (rc < 0) {
        libcamera_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

int libcamera_take(struct libcamera_session *s, struct libcamera_frame *out)
{
    std::unique_lock<std::mutex> hold(s->lock);
    s->news.wait_for(hold, std::chrono::milliseconds(100),
                     [s] { return s->gone || !s->done.empty(); });
    if (s->gone)
        return LIBCAMERA_GONE;
    if (s->done.empty())
        return LIBCAMERA_NONE;
    Request *request = s->done.front();
    s->done.pop_front();
    hold.unlock();
    if (request->status() == Request::RequestCancelled)
        return LIBCAMERA_GONE;
    frame_read(s, request, out);
    if (buffer_of(request)->metadata().status == FrameMetadata::FrameSuccess)
        return LIBCAMERA_FRAME;
    return libcamera_give(s, out) ? LIBCAMERA_NONE : LIBCAMERA_GONE;
}

bool libcamera_give(struct libcamera_session *s, const struct libcamera_frame *frame)
{
    Request *request = static_cast<Request *>(frame->request);
    buffer_sync(buffer_of(request), DMA_BUF_SYNC_END);
    request->reuse(Request::ReuseBuffers);
    const ControlInfoMap &has = s->camera->controls();
    if (s->manual && has.count(&controls::AeEnable))
        request->controls().set(controls::AeEnable, false);
    if (s->manual && has.count(&controls::ExposureTime))
        request->controls().set(controls::ExposureTime, static_cast<int32_t>(s->time_us));
    if (s->manual && has.count(&controls::AnalogueGain))
        request->controls().set(controls::AnalogueGain, static_cast<float>(s->gain));
    return s->camera->queueRequest(request) == 0;
}

void libcamera_set(struct libcamera_session *s, double time_us, double gain)
{
    s->manual = true;
    s->time_us = time_us;
    s->gain = gain;
}

void libcamera_close(struct libcamera_session *s)
{
    if (!s)
        return;
    if (s->started)
        s->camera->stop();
    if (s->camera) {
        s->camera->requestCompleted.disconnect(s);
        s->camera->disconnected.disconnect(s);
    }
    for (const auto &[fd, mapping] : s->mappings)
        munmap(mapping.memory, mapping.size);
    s->requests.clear();
    s->allocator.reset();
    if (s->acquired)
        s->camera->release();
    s->camera.reset();
    s->config.reset();
    delete s;
}

const char *libcamera_version(void)
{
    return CameraManager::version().c_str();
}
