import { csvText } from '../../import/csv.ts'
import { Icon } from '../components/icon.tsx'
import { saveFile } from '../format.ts'
import * as texts from '../texts/index.ts'
import type { Fault } from './import-rows.ts'

/** Saves rows for a spreadsheet. */
export function saveCsv(rows: readonly (readonly unknown[])[], name: string): void {
  // The mark says to a spreadsheet that the text is UTF-8.
  saveFile(new Blob([`\u{feff}${csvText(rows)}`], { type: 'text/csv' }), name)
}

const SHOWN_FAULTS = 20

/** Rows that are not created, with the reasons: the first ones, and all of them as a file. */
export function FaultList({ faults }: { readonly faults: readonly Fault[] }) {
  const t = texts.import
  if (faults.length === 0) return null
  const save = (): void =>
    saveCsv([t.faultColumns, ...faults.map((each) => Object.values(each))], 'rows-with-reasons.csv')
  return (
    <>
      <ul class="lines" aria-label={t.faultsLabel}>
        {faults.slice(0, SHOWN_FAULTS).map(({ number, externalId, reason }) => (
          <li key={number}>
            <div class="text">
              <b>{t.row(number)}</b>
              <p class="small muted">
                <bdi>{reason}</bdi>
              </p>
            </div>
            <bdi class="id">{externalId}</bdi>
          </li>
        ))}
      </ul>
      <button onClick={save}>
        <Icon name="keep" />
        {t.save(faults.length)}
      </button>
    </>
  )
}
