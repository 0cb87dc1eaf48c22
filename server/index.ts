/** The REST service, for programs that open a registry themselves. `main.ts` is the program that opens everything. */
export { createApp, BASE_PATH, type App, type AppOptions } from './http/app.ts'
export { createInstruments, type Instruments } from './http/instruments.ts'
export { listen, type ListenOptions, type RunningServer } from './http/listen.ts'
export { loadConfig, settingRows, type Config, type ConfigSources, type SettingRow } from './settings/load.ts'
