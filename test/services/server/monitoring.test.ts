import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { dashboardExpressions, monitoring } from '../../support/monitoring.ts'
import { serviceFor } from '../../support/service.ts'
import { temporaryFor } from '../../support/temporary.ts'

const promtool = (args: readonly string[], input?: string) =>
  spawnSync('promtool', args, { encoding: 'utf8', ...(input !== undefined && { input }) })
const skip = promtool(['--version']).error === undefined ? false : 'promtool is missing (Debian package prometheus)'

it('alert rules and dashboard expressions are accepted by promtool', { skip }, async (t) => {
  const service = await serviceFor(t)
  const rules = promtool(['check', 'rules', monitoring('alerts.yaml')])
  assert.equal(rules.status, 0, rules.stderr + rules.stdout)
  const recording = dashboardExpressions().map((expr, i) => ({ record: `panel:${i}`, expr }))
  const file = join(await temporaryFor(t), 'dashboard.yaml')
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: recording }] }))
  const dashboard = promtool(['check', 'rules', file])
  assert.equal(dashboard.status, 0, dashboard.stderr + dashboard.stdout)
  const metrics = await service.metrics()
  const parsed = promtool(['check', 'metrics'], metrics)
  assert.ok(!parsed.stderr.includes('error while linting'), parsed.stderr)
})
