/** The REST service, for programs that bring their own registry. `main.ts` is the one that brings all parts. */
export { createApp, BASE_PATH, type App, type AppOptions } from './app.ts'
export { listen, type ListenOptions, type RunningServer } from './server.ts'
export { loadConfig, settingRows, type Config, type SettingRow } from './config.ts'
