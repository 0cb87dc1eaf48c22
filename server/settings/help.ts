import { flagOf, TOPICS, variableOf } from './schema.ts'

const WIDTH = 100

const INTRODUCTION = `Usage: evidence-registry [flags]                                       runs the server
       evidence-registry seal | keys | backup [flags]                 on a running or a stopped registry
       evidence-registry adopt head | bucket | transactions [flags]   what cannot be made again
       evidence-registry config check [flags]                         shows settings, and tries what they name
       evidence-registry import | restore | fsck | rewrite | migrate | migrate-blobs [flags]   on a stopped one
       evidence-registry verify BUNDLE [flags]                        checks a proof bundle, anywhere

Each command has its own --help.

A setting is a flag, an environment variable, or a key of the JSON file that --config or
EVIDENCE_CONFIG names. A flag overrides a variable, and a variable overrides the file. In the file,
--data-dir is "dataDir". Secrets have no flag: set the variable, or the variable with _FILE at its
end to the path of a file that contains the secret. A wrong setting ends the start with exit code 2.

  --config FILE   reads settings from this JSON file
  --help, -h      prints this text
  --version       prints the version
`

/** The text of `--help`. */
export function helpText(): string {
  const rows = settingRows()
  const topics = Array.from(new Set(rows.map(({ topic }) => topic)))
  const sections = topics.map(
    (topic) =>
      `${topic}\n\n${rows
        .filter((row) => row.topic === topic)
        .map(describe)
        .join('\n')}`,
  )
  return `${INTRODUCTION}\n${sections.join('\n\n')}\n`
}

/** One setting: its names, then what it means, accepts, and is by default. */
function describe({ flag, variable, doc, accepts, fallback }: SettingRow): string {
  const names = flag === undefined ? `${variable} or ${variable}_FILE (a secret)` : `${flag}, ${variable}`
  return [
    `  ${names}`,
    ...wrap(`${doc} (${accepts}; default: ${fallback}).`, WIDTH - 6).map((line) => `      ${line}`),
  ].join('\n')
}

/** Breaks a text into lines of at most `width` characters, if its words allow it. */
function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
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
  Object.entries(TOPICS).flatMap(([topic, settings]) =>
    Object.entries(settings).map(([name, { isSecret, shownDefault, accepts, description }]) => ({
      topic,
      variable: variableOf(name),
      flag: isSecret ? undefined : flagOf(name),
      fallback: shownDefault,
      accepts,
      doc: description,
    })),
  )
