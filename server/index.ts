/** The REST service, for programs that open a registry themselves. `main.ts` is the program that opens everything. */
export { createApp, type App, type AppOptions } from './http/app.ts'
export { BASE_PATH } from './http/segments.ts'
export { createInstruments, type Instruments } from './http/instruments.ts'
export { listen, type ListenOptions, type RunningServer } from './http/listen.ts'
export { loadConfig, settingRows, type Config, type ConfigSources, type SettingRow } from './settings/load.ts'
