/** The REST service, for programs that bring their own registry. `main.ts` is the one that brings all parts. */
export { createApp, BASE_PATH, type App, type AppOptions } from './http/app.ts'
export { listen, type ListenOptions, type RunningServer } from './http/listen.ts'
export { loadConfig, settingRows, type Config, type SettingRow } from './settings/config.ts'
