import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { ERROR_CODES } from '../../core/index.ts'
import { settingRows, type SettingRow } from '../../server/settings/help.ts'

/**
 * Parts of the documentation that repeat the code are generated from it. To write them again:
 * `UPDATE_DOCS=1 node --import tsx --test test/docs/generated.test.ts`
 */
interface WorkedEvent {
  readonly time: number
  readonly fields: Readonly<Record<string, { readonly salt: string; readonly text: string; readonly hash: string }>>
  readonly headerHash: string
  readonly filesHash: string
  readonly slot: string
  readonly opening: string
  readonly txId: string
}

const cell = (text: string): string => text.replaceAll('|', '\\|')

function settingsTables(): string {
  const rows = settingRows()
  const topics = [...new Set(rows.map(({ topic }) => topic))]
  const head = ['', '| variable, flag | default | meaning |', '|---|---|---|']
  return topics
    .map((name) => [`## ${name}`, ...head, ...rows.filter(({ topic }) => topic === name).map(settingLine)].join('\n'))
    .join('\n\n')
}

function settingLine({ variable, flag, fallback, accepts, doc }: SettingRow): string {
  const names = [`\`${variable}\``, flag === undefined ? `\`${variable}_FILE\`` : `\`${flag}\``].join('<br>')
  return `| ${names} | ${cell(fallback)} | ${cell(doc)} (${cell(accepts)}) |`
}

const WORKED_EXAMPLE = 'test/core/commitment/worked-example.json'

function workedExample(): string {
  const { slotKey, events } = JSON.parse(readFileSync(WORKED_EXAMPLE, 'utf8')) as {
    readonly slotKey: string
    readonly events: readonly WorkedEvent[]
  }
  const [event] = events
  const name = event?.fields['name']
  assert.ok(event && name)
  return [
    'A worked example, computed with python3 and none of our code. The whole of it, with three events, is in',
    `[${WORKED_EXAMPLE}](../${WORKED_EXAMPLE}):`,
    '',
    '```',
    `slotKey  ${slotKey}`,
    `field    name: salt ${name.salt}`,
    `         J = ${name.text}`,
    `         H = ${name.hash}`,
    `header   ${event.headerHash}`,
    `files    ${event.filesHash}`,
    `slot     ${event.slot}`,
    `time     ${event.time}`,
    `opening  ${event.opening.slice(0, 120)}`,
    `         ${event.opening.slice(120)}`,
    `txId     ${event.txId}`,
    '```',
  ].join('\n')
}

const GENERATED = [
  { file: 'server/SETTINGS.md', name: 'settings', make: settingsTables },
  { file: 'core/SPECIFICATION.md', name: 'worked-example', make: workedExample },
] as const

const between = (name: string): RegExp => new RegExp(`<!-- ${name} -->\\n([^]*?)<!-- /${name} -->`)

describe('generated documentation', () => {
  for (const { file, name, make } of GENERATED)
    it(`${file} shows the ${name} as the code has them`, () => {
      const text = readFileSync(file, 'utf8')
      const block = `\n${make()}\n\n`
      if (process.env['UPDATE_DOCS'] === undefined) return assert.equal(between(name).exec(text)?.[1], block)
      const updated = text.replace(between(name), () => `<!-- ${name} -->\n${block}<!-- /${name} -->`)
      return writeFileSync(file, updated)
    })

  it('server/README.md explains every error code', () => {
    const text = readFileSync('server/README.md', 'utf8')
    const missing = ERROR_CODES.filter((code) => !text.includes(`\`${code}\``))
    assert.deepEqual(missing, [])
  })
})

it('the operations manual gives a reason to change each setting', () => {
  const [, section = ''] = readFileSync('server/OPERATIONS.md', 'utf8').split(
    '## The settings, and when to change them',
  )
  const named = [...section.slice(0, section.indexOf('\n## ')).matchAll(/`(EVIDENCE_\w+)`/g)].map(([, name]) => name)
  assert.deepEqual(new Set(named), new Set(settingRows().map(({ variable }) => variable)))
  assert.equal(new Set(named).size, named.length)
})
