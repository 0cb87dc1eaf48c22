import { useEffect, useRef, useState } from 'preact/hooks'
import type { CategoryList, EvidenceFilter } from '../../client/index.ts'
import { FormDialog, openDialog } from '../components/dialog.tsx'
import { TextField } from '../components/fields.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { useForm } from '../components/use-form.ts'
import { formatDate, toRfc3339, withoutEmpty } from '../format.ts'
import { hrefOf, navigate } from '../router.ts'
import * as texts from '../texts/index.ts'

/** The filters as they are in the address and in the toolbar: texts, empty if they are not set. */
type FilterTexts = Readonly<ReturnType<typeof filterTextsOf>>

/** The filters that an address holds. */
export function filterTextsOf(query: URLSearchParams) {
  const text = (name: string): string => query.get(name) ?? ''
  return {
    q: text('q'),
    externalId: text('externalId'),
    owner: text('owner'),
    status: text('status'),
    categoryId: text('categoryId'),
    subcategoryId: text('subcategoryId'),
    createdFrom: text('createdFrom'),
    createdTo: text('createdTo'),
    sort: text('sort'),
  }
}

/** The filter of the request. The address holds local times, the API reads UTC. */
export function filterOf({ status, sort, createdFrom, createdTo, ...rest }: FilterTexts): EvidenceFilter {
  return {
    ...withoutEmpty({ ...rest, createdFrom: toRfc3339(createdFrom), createdTo: toRfc3339(createdTo) }),
    ...((status === 'active' || status === 'stolen') && { status }),
    ...(sort === 'updated' && { sort }),
  }
}

const NO_FILTERS = filterTextsOf(new URLSearchParams())

interface EvidenceFiltersProps {
  readonly filters: FilterTexts
  readonly categories: CategoryList['categories']
  /** How many are stolen; `undefined` until it is known. */
  readonly stolen: number | undefined
  /** The user came here to search. */
  readonly hasFocus: boolean
}

/** One toolbar: search while typing, filters that apply at once, the order. The address holds all, so Back undoes it. */
export function EvidenceFilters({ filters, categories, stolen, hasFocus }: EvidenceFiltersProps) {
  const t = texts.evidences
  const { q, status, sort, externalId, owner, createdFrom, createdTo } = filters
  const show = (part: Partial<FilterTexts>): void => navigate(['evidences'], withoutEmpty({ ...filters, ...part }))
  const set = (part: Partial<FilterTexts>) => (): void => show(part)
  const search = (next: string): void => {
    // Back leads to the list without a search, and not from letter to letter.
    if (q === '') show({ q: next })
    else location.replace(hrefOf(['evidences'], withoutEmpty({ ...filters, q: next })))
  }
  const chip = (label: string, isOn: boolean, press: () => void, icon?: IconName) => (
    <button type="button" class="chip" aria-pressed={isOn} onClick={press}>
      {icon && <Icon name={icon} />}
      {label}
    </button>
  )
  const isAll = Object.values({ ...filters, sort: '' }).every((text) => text === '')
  const isStolen = status === 'stolen'
  const created = t.createdChip(createdFrom && formatDate(createdFrom), createdTo && formatDate(createdTo))
  const jump = (): void => openDialog(<CreatedDialog filters={filters} onShow={show} />)
  return (
    <div role="search">
      <SearchField q={q} hasFocus={hasFocus} onSearch={search} />
      <div class="row chips">
        {chip(texts.all, isAll, set({ ...NO_FILTERS, sort }))}
        {chip(t.stolenCount(stolen), isStolen, set({ status: isStolen ? '' : 'stolen' }), 'warning')}
        <CategoryChip filters={filters} categories={categories} onShow={show} />
        {chip(created, createdFrom !== '' || createdTo !== '', jump, 'clock')}
        {status === 'active' && chip(t.active, true, set({ status: '' }), 'tick')}
        {owner !== '' && chip(`${texts.fields.owner}: ${owner}`, true, set({ owner: '' }))}
        {externalId !== '' && chip(`${texts.fields.externalId}: ${externalId}`, true, set({ externalId: '' }))}
        <select
          class="button chip end"
          aria-label={t.order}
          value={sort}
          onChange={(event) => show({ sort: event.currentTarget.value })}
        >
          <option value="">{t.newest}</option>
          <option value="updated">{t.updated}</option>
        </select>
      </div>
    </div>
  )
}

const SEARCH_PAUSE_MS = 200

interface SearchFieldProps extends Pick<EvidenceFiltersProps, 'hasFocus'> {
  /** What is searched for. */
  readonly q: string
  readonly onSearch: (q: string) => void
}

/** Searches some time after the last key. */
function SearchField({ q, hasFocus, onSearch }: SearchFieldProps) {
  const t = texts.evidences
  const field = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState(q)
  const searched = useRef(q)
  // The API rejects a text without a letter or a digit.
  const wanted = /[\p{L}\p{N}]/u.test(typed) ? typed.trim() : ''
  useEffect(() => {
    if (hasFocus) field.current?.focus()
  }, [hasFocus])
  useEffect(() => {
    // Back or a chip has changed the address.
    if (q !== searched.current) setTyped(q)
    searched.current = q
  }, [q])
  useEffect(() => {
    if (wanted === searched.current) return undefined
    const timer = setTimeout(() => {
      searched.current = wanted
      onSearch(wanted)
    }, SEARCH_PAUSE_MS)
    return () => clearTimeout(timer)
  })
  return (
    <div class="search">
      <Icon name="search" />
      <input
        type="search"
        ref={field}
        aria-label={t.apply}
        placeholder={t.searchHint}
        autocomplete="off"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <kbd class="wide-only">/</kbd>
    </div>
  )
}

interface FilterProps extends Pick<EvidenceFiltersProps, 'filters'> {
  readonly onShow: (part: Partial<FilterTexts>) => void
}

/** All categories and subcategories, with the numbers of their evidences. */
function CategoryChip({ filters, categories, onShow }: FilterProps & Pick<EvidenceFiltersProps, 'categories'>) {
  const t = texts.evidences
  const choices = categories.flatMap(({ id, name, digitalTwinsCount, subcategories }) => [
    [`${id}/`, name, digitalTwinsCount] as const,
    ...subcategories.map((each) => [`${id}/${each.id}`, `${name} / ${each.name}`, each.digitalTwinsCount] as const),
  ])
  const change = (value: string): void => {
    const [categoryId = '', subcategoryId = ''] = value.split('/')
    onShow({ categoryId, subcategoryId })
  }
  return (
    <select
      class={`button chip ${filters.categoryId === '' ? '' : 'is-on'}`}
      aria-label={t.category}
      value={`${filters.categoryId}/${filters.subcategoryId}`}
      onChange={(event) => change(event.currentTarget.value)}
    >
      <option value="/">{t.category}</option>
      {choices.map(([value, path, count]) => (
        <option key={value} value={value}>
          {t.categoryCount(path, count)}
        </option>
      ))}
    </select>
  )
}

/** Jumps to the evidences of some time: the way to the end of a long list. */
function CreatedDialog({ filters: { createdFrom, createdTo }, onShow }: FilterProps) {
  const t = texts.evidences
  const form = useForm({ createdFrom, createdTo })
  return (
    <FormDialog
      title={t.jump}
      form={form}
      submitText={texts.evidence.show}
      action={async () => undefined}
      onDone={() => onShow(form.values)}
    >
      <TextField label={t.from} type="datetime-local" {...form.props('createdFrom')} />
      <TextField label={t.to} type="datetime-local" {...form.props('createdTo')} />
    </FormDialog>
  )
}
