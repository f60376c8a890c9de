/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The loader, the instance, the validation layer and the log.
 */
#include "gpu/engine/instance.h"

#ifdef __SANITIZE_ADDRESS__
#include <dlfcn.h>
#include <link.h>
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *gpu_error_text(int error)
{
    switch (error) {
    case GPU_OK:
        return "no error";
    case GPU_ERR_NO_DEVICE:
        return "no matching Vulkan device";
    case GPU_ERR_NOMEM:
        return "out of host or device memory";
    case GPU_ERR_LOST:
        return "the Vulkan device was lost";
    case GPU_ERR_FEATURE:
        return "the Vulkan device lacks a needed feature";
    case GPU_ERR_VULKAN:
        return "a Vulkan call failed";
    case GPU_ERR_INVALID:
        return "invalid arguments";
    default:
        return "unknown error";
    }
}

const char *gpu_vk_text(VkResult result)
{
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED:
        return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST:
        return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_LAYER_NOT_PRESENT:
        return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
        return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT:
        return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
        return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS:
        return "VK_ERROR_TOO_MANY_OBJECTS";
    case VK_ERROR_OUT_OF_POOL_MEMORY:
        return "VK_ERROR_OUT_OF_POOL_MEMORY";
    case VK_ERROR_INVALID_EXTERNAL_HANDLE:
        return "VK_ERROR_INVALID_EXTERNAL_HANDLE";
    default:
        return "VkResult";
    }
}

void gpu_log(const struct gpu *g, int level, const char *format, ...)
{
    if (!g || !g->log)
        return;
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    g->log(g->log_ctx, level, line);
}

int gpu_vk_failed(struct gpu *g, VkResult result, const char *call, const char *file, int line)
{
    gpu_log(g, 0, "%s (%d) from %.*s at %s:%d", gpu_vk_text(result), result,
            (int)strcspn(call, "("), call, file, line);
    switch (result) {
    case VK_ERROR_DEVICE_LOST:
        if (g)
            atomic_store(&g->lost, true);
        return GPU_ERR_LOST;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
        return GPU_ERR_NOMEM;
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
        return GPU_ERR_FEATURE;
    case VK_ERROR_INCOMPATIBLE_DRIVER:
        return GPU_ERR_NO_DEVICE;
    default:
        return GPU_ERR_VULKAN;
    }
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    struct gpu *g = user;
    atomic_fetch_add(&g->instance.messages, 1);
    gpu_log(g, 0, "validation: %s", data->pMessage);
    return VK_FALSE;
}

/* The layer sees neither reads by the host nor all kinds of access. */
static void on_unordered(void *ctx, const char *place, uint32_t resources)
{
    struct gpu *g = ctx;
    atomic_fetch_add(&g->instance.messages, 1);
    gpu_log(g, 0, "validation: %s: no barrier orders its access to the resources %x", place,
            resources);
}

/* The loader is found once for the process; instance-level functions are its trampolines, good for
 * every instance. */
static pthread_mutex_t loader_lock = PTHREAD_MUTEX_INITIALIZER;

static int load_vulkan(void)
{
    static bool loaded;
    pthread_mutex_lock(&loader_lock);
    if (!loaded)
        loaded = volkInitialize() == VK_SUCCESS && volkGetInstanceVersion() >= VK_API_VERSION_1_2;
    bool ok = loaded;
    pthread_mutex_unlock(&loader_lock);
    return ok ? GPU_OK : GPU_ERR_NO_DEVICE;
}

static void load_instance(VkInstance instance)
{
    static bool loaded;
    pthread_mutex_lock(&loader_lock);
    if (!loaded)
        volkLoadInstanceOnly(instance);
    loaded = true;
    pthread_mutex_unlock(&loader_lock);
}

#ifdef __SANITIZE_ADDRESS__
static int pin_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
    if (info->dlpi_name && *info->dlpi_name)
        dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    return 0;
}
#endif

/* Drivers keep some memory from their globals; once the loader has unloaded them, the leak checker
 * would see it as lost. */
static void pin_drivers(void)
{
#ifdef __SANITIZE_ADDRESS__
    dl_iterate_phdr(pin_library, NULL);
#endif
}

static bool have_layer(const char *name)
{
    VkLayerProperties layers[64];
    uint32_t count = 64;
    if (vkEnumerateInstanceLayerProperties(&count, layers) < 0)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(layers[i].layerName, name))
            return true;
    return false;
}

/* Commands get no labels: the layer looks after those of all threads together without a lock
 * (1.3.239), and crashes where one ends command buffers while another begins one. */
static void open_messenger(struct gpu *g, const VkDebugUtilsMessengerCreateInfoEXT *info)
{
    PFN_vkCreateDebugUtilsMessengerEXT create =
        (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(g->instance.handle,
                                                                  "vkCreateDebugUtilsMessengerEXT");
    if (create && create(g->instance.handle, info, NULL, &g->instance.messenger) < 0)
        g->instance.messenger = VK_NULL_HANDLE;
}

int gpu_instance_open(struct gpu *g, bool validation)
{
    int64_t begun = gpu_clock_ns();
    int err = load_vulkan();
    if (err < 0) {
        gpu_log(g, 0, "no Vulkan loader (libvulkan.so.1) of version 1.2 or later");
        return err;
    }
    gpu_log_step(g, begun, "loader is opened");
    static const char *const layer = "VK_LAYER_KHRONOS_validation";
    static const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                             VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    if (validation) /* also where the layer is absent */
        g->barrier_watch.unordered = on_unordered;
    g->barrier_watch.ctx = g;
    if (validation && !have_layer(layer)) {
        gpu_log(g, 1, "%s is not installed: no validation", layer);
        validation = false;
    }
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .pApplicationName = "pelton",
                             .apiVersion = VK_API_VERSION_1_2};
    VkValidationFeatureEnableEXT enable =
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = g,
    };
    VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                        .pNext = &messenger,
                                        .enabledValidationFeatureCount = 1,
                                        .pEnabledValidationFeatures = &enable};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &app};
    if (validation) {
        info.pNext = &features;
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = &layer;
        info.enabledExtensionCount = 2;
        info.ppEnabledExtensionNames = extensions;
    }
    begun = gpu_clock_ns();
    VK(g, vkCreateInstance(&info, NULL, &g->instance.handle));
    load_instance(g->instance.handle);
    gpu_log_step(g, begun, "instance is made");
    if (validation)
        open_messenger(g, &messenger);
    return GPU_OK;
error:
    g->instance.handle = VK_NULL_HANDLE;
    return err;
}

void gpu_instance_close(struct gpu *g)
{
    if (!g->instance.handle)
        return;
    pin_drivers();
    if (g->instance.messenger) {
        PFN_vkDestroyDebugUtilsMessengerEXT destroy =
            (PFN_vkDestroyDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
                g->instance.handle, "vkDestroyDebugUtilsMessengerEXT");
        destroy(g->instance.handle, g->instance.messenger, NULL);
    }
    vkDestroyInstance(g->instance.handle, NULL);
    g->instance.handle = VK_NULL_HANDLE;
}
