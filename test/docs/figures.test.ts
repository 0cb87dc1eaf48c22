import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { LOAD_LIMITS } from '../../server/http/load-limits.ts'
import { loadConfig } from '../../server/settings/load.ts'
import { CLOSE_MS } from '../../server/startup/shutdown.ts'

/** Figures of the documentation that the code has, too. Each is at one place of the documentation. */
const SETTINGS = readFileSync('server/SETTINGS.md', 'utf8')

/** The number in the first group of a pattern, which a file has once. */
function figure(path: string, pattern: RegExp): number {
  const found = [...readFileSync(path, 'utf8').matchAll(new RegExp(pattern, 'gm'))]
  assert.equal(found.length, 1, `${path} has ${pattern} ${found.length} times`)
  return Number(found[0]?.[1]?.replaceAll(',', ''))
}

describe('figures in the documentation', () => {
  it('give a server as long to end as it takes', () => {
    const neededSeconds = (loadConfig({ args: [], env: {} }).shutdownMs + CLOSE_MS) / 1_000
    assert.equal(figure('server/README.md', /and (\d+) s for the stores/) * 1_000, CLOSE_MS)
    const preStop = figure('server/README.md', /command: \[sleep, "(\d+)"\]/)
    assert.equal(figure('server/kubernetes.yaml', /command: \[sleep, '(\d+)'\]/), preStop)
    const given = [
      figure('server/README.md', /`terminationGracePeriodSeconds: (\d+)`/) - preStop,
      figure('server/kubernetes.yaml', /^ +terminationGracePeriodSeconds: (\d+)/) - preStop,
      figure('server/compose.yaml', /stop_grace_period: (\d+)s/),
      figure('server/evidence-registry.service', /^TimeoutStopSec=(\d+)s/),
      figure('server/Dockerfile', /use (\d+) s as the stop timeout/),
    ]
    for (const seconds of given) assert.ok(seconds >= neededSeconds, `${seconds} s, needed are ${neededSeconds} s`)
  })

  it('are those of the queues', () => {
    const [, table = ''] = /\| queue \| run \| wait \|\n[^\n]*\n((?:\|.*\n)+)/.exec(SETTINGS) ?? []
    const shown = [...table.matchAll(/\| ([\d,]+) \| ([\d,]+) \|$/gm)].map((row) =>
      row.slice(1).map((text) => Number(text.replaceAll(',', ''))),
    )
    assert.deepEqual(
      shown,
      Object.values(LOAD_LIMITS.queues).map(({ running, waiting }) => [running, waiting]),
    )
  })
})
