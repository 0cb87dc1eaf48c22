import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { settingRows } from '../server/settings/table.ts'

/**
 * What the README repeats of the code is made of the code. `UPDATE_README=1 node --import tsx --test
 * test/readme.test.ts` writes it anew.
 */
const readme = 'README.md'

interface WorkedEvent {
  readonly version: number
  readonly time: number
  readonly fields: Readonly<Record<string, { readonly salt: string; readonly text: string; readonly hash: string }>>
  readonly headerHash: string
  readonly filesHash: string
  readonly slot: string
  readonly opening: string
  readonly txId: string
}

const cell = (text: string): string => text.replaceAll('|', '\\|')

function settingsTable(): string {
  const rows = settingRows().map(
    ({ variable, flag, fallback, accepts, doc }) =>
      `| \`${variable}\`<br>${flag === undefined ? 'or `…_FILE`' : `\`${flag}\``} | ${cell(fallback)} | ${cell(doc)} (${cell(accepts)}) |`,
  )
  return ['| variable, flag | default | what |', '|---|---|---|', ...rows].join('\n')
}

function workedExample(): string {
  const { slotKey, events } = JSON.parse(readFileSync('test/core/commitment/worked-example.json', 'utf8')) as {
    slotKey: string
    events: WorkedEvent[]
  }
  const [event] = events
  assert.ok(event)
  const name = event.fields['name']
  assert.ok(name)
  return [
    'A worked example, computed with python3 and none of this code; whole, with three events, in',
    '[test/core/commitment/worked-example.json](test/core/commitment/worked-example.json):',
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

const between = (name: string): RegExp => new RegExp(`<!-- ${name} -->\\n([^]*?)<!-- /${name} -->`)

describe('the README', () => {
  for (const [name, make] of [
    ['settings', settingsTable],
    ['worked-example', workedExample],
  ] as const)
    it(`shows the ${name} as the code has it`, () => {
      const text = readFileSync(readme, 'utf8')
      const block = `\n${make()}\n\n`
      if (process.env['UPDATE_README'] !== undefined)
        writeFileSync(
          readme,
          text.replace(between(name), () => `<!-- ${name} -->\n${block}<!-- /${name} -->`),
        )
      else assert.equal(between(name).exec(text)?.[1], block)
    })

  it('links to files that exist', () => {
    const links = [...readFileSync(readme, 'utf8').matchAll(/\]\((?!https?:|#)([^)]+)\)/g)].map(
      ([, path]) => path as string,
    )
    assert.ok(links.length > 3)
    for (const link of links) assert.ok(existsSync(link), `${link} is missing`)
  })
})
