import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './repository.ts'

/** The path of a file for Prometheus or Grafana. */
export const monitoring = (name: string): string => join(root, 'server/monitoring', name)

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[]
}

/** Every expression of the dashboard, with a value for Grafana's own variable. */
export function dashboardExpressions(): readonly string[] {
  const { panels } = JSON.parse(readFileSync(monitoring('dashboard.json'), 'utf8')) as Dashboard
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m')))
}
