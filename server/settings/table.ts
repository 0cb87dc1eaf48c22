import { RegistryError } from '../../core/index.ts'
import type { Setting } from './setting.ts'
import { anchors } from './topics/anchors.ts'
import { load } from './topics/load.ts'
import { log } from './topics/log.ts'
import { requests } from './topics/requests.ts'
import { server } from './topics/server.ts'
import { files, records } from './topics/storage.ts'
import { timestamps } from './topics/timestamps.ts'

/**
 * All settings by name. `fooBar` is the flag `--foo-bar`, the variable `EVIDENCE_FOO_BAR` and the file's key `fooBar`.
 */
export const SETTINGS = {
  ...server,
  ...records,
  ...files,
  ...log,
  ...timestamps,
  ...anchors,
  ...requests,
  ...load,
} as const

/** The settings by topic, in the order of `--help` and the README. */
const TOPICS: readonly (readonly [topic: string, settings: Readonly<Record<string, Setting<unknown>>>])[] = [
  ['Server', server],
  ['Records', records],
  ['Files', files],
  ['Log', log],
  ['Time stamps', timestamps],
  ['Anchors', anchors],
  ['Requests', requests],
  ['Load', load],
]

export type SettingName = keyof typeof SETTINGS

/** The value of every setting. */
export type Config = { readonly [K in SettingName]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never }

export const settingNames = Object.keys(SETTINGS) as readonly SettingName[]
export const isSecret = (name: SettingName): boolean => SETTINGS[name].isSecret

const words = (name: string): string[] => name.split(/(?=[A-Z])/).map((word) => word.toLowerCase())

export const flagOf = (name: string): string => `--${words(name).join('-')}`
export const variableOf = (name: string): string => `EVIDENCE_${words(name).join('_').toUpperCase()}`

/**
 * Returns the value that a text gives a setting. Throws `CONFIG_ERROR` that names the source, what is accepted, and the
 * text unless it is secret.
 */
export function parseSetting(name: SettingName, source: string, value: string): Config[SettingName] {
  const { parse, accepts, isSecret: hidden }: Setting<Config[SettingName]> = SETTINGS[name]
  const parsed = parse(value)
  if (parsed !== undefined) return parsed
  const given = hidden ? '' : `, got ${JSON.stringify(value.slice(0, 128))}`
  throw new RegistryError('CONFIG_ERROR', `${source} must be ${accepts}${given}`)
}

/** A setting as `--help` and the README show it. */
export interface SettingRow {
  readonly topic: string
  readonly variable: string
  /** `undefined` for a secret. */
  readonly flag: string | undefined
  readonly fallback: string
  readonly accepts: string
  readonly doc: string
}

/** Returns a row for each setting, grouped by topic. */
export const settingRows = (): readonly SettingRow[] =>
  TOPICS.flatMap(([topic, settings]) =>
    Object.entries(settings).map(([name, { isSecret: hidden, shownFallback, accepts, doc }]) => ({
      topic,
      variable: variableOf(name),
      flag: hidden ? undefined : flagOf(name),
      fallback: shownFallback,
      accepts,
      doc,
    })),
  )
