import { useState } from 'preact/hooks'
import type { ErasurePage } from '../../client/index.ts'
import { openDialog } from '../components/dialog.tsx'
import { Card, PageList } from '../components/notice.tsx'
import { Table, type Column } from '../components/table.tsx'
import { usePages, type Page } from '../components/use-pages.ts'
import { Time } from '../components/values.tsx'
import { fieldName } from '../event-names.ts'
import { hrefOf } from '../router.ts'
import { useSession } from '../session.ts'
import * as texts from '../texts/index.ts'
import type { NameOf } from './audit-trail.tsx'
import { ErasePerson, isRunning, PersonState } from './erase-person.tsx'

type Erasure = ErasurePage['erasures'][number]

/** What was erased in the company, newest first. */
export function Erasures({ nameOf }: { readonly nameOf: NameOf }) {
  const t = texts.erasure
  const { client } = useSession()
  const [changes, setChanges] = useState(0)
  const list = usePages<Erasure, Page<Erasure>>(
    {
      pageItems: 50,
      async readPage({ last, len }, signal) {
        const { erasures, isMore } = await client.listErasures({ len, ...(last && { last: last.id }) }, { signal })
        return { items: erasures, isMore }
      },
      mayChange: (items) => items.some((of) => of.kind === 'subject' && isRunning(of)),
    },
    { of: [client], changes },
  )
  const columns: readonly Column<Erasure>[] = [
    { title: t.what, cell: (erasure) => <What erasure={erasure} /> },
    { title: t.when, cell: (of) => <Time at={of.kind === 'subject' ? of.createdAt : of.at} isAge /> },
    { title: t.reason, cell: ({ reason, note }) => <bdi>{[t.reasons[reason], note].filter(Boolean).join(': ')}</bdi> },
    { title: texts.fields.actor, cell: ({ by }) => <bdi>{nameOf(by)}</bdi> },
    { title: t.disk, cell: (of) => of.kind === 'evidence' && t.disks[of.disk] },
  ]
  const ask = (): void => openDialog(<ErasePerson onDone={() => setChanges((count) => count + 1)} />)
  const person = (
    <button class="chip" onClick={ask}>
      {t.person.title}
    </button>
  )
  return (
    <Card title={t.list} aside={person}>
      <PageList of={list} empty={<p class="muted">{t.none}</p>}>
        {(items) => <Table label={t.list} columns={columns} items={items} keyOf={({ id }) => id} isCard={false} />}
      </PageList>
    </Card>
  )
}

/** The names of the fields that were erased, each once, or how far the erasure of a person is. */
function What({ erasure }: { readonly erasure: Erasure }) {
  if (erasure.kind === 'subject') return <PersonState of={erasure} />
  const names = erasure.erased.map(({ field }) => fieldName(field))
  return <a href={hrefOf(['verify', erasure.evidenceId])}>{[...new Set(names)].join(', ')}</a>
}
